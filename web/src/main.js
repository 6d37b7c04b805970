// Draws a report: its data stand in the page as JSON, in the order of its sections.
import { drawPlots } from './plots.js';
import { drawLog } from './log.js';
import { showRobot } from './robot.js';
import { enhanceTables } from './tables.js';
import { addThemeButton } from './theme.js';
import './style.css';

const sections = JSON.parse(document.getElementById('sections').textContent);
for (const [id, section] of Object.entries(sections)) {
  const box = document.querySelector(`#${id} .view`);
  if (section.kind === 'scene') showRobot(box, section);
  else if (section.kind === 'log') drawLog(box, section);
}
drawPlots(sections);
enhanceTables();
addThemeButton(document.getElementById('theme'));
document.documentElement.dataset.drawn = 'yes';
