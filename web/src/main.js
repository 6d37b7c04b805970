// Draws the robots of a page: their data stand in it as JSON, by card.
import { showRobot } from './robot.js';
import { enhanceTables } from './tables.js';
import { addThemeButton } from './theme.js';
import './style.css';

const scenes = JSON.parse(document.getElementById('scenes').textContent);
for (const [id, scene] of Object.entries(scenes)) showRobot(document.querySelector(`#${id} .view`), scene);
enhanceTables();
addThemeButton(document.getElementById('theme'));
document.documentElement.dataset.drawn = 'yes';
