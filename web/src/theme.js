// Light or dark: as the system has it, until the button says otherwise.
const dark = matchMedia('(prefers-color-scheme: dark)');

export const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? 'dark' : 'light')) === 'dark';

export const onTheme = (draw) => {
  dark.addEventListener('change', draw);
  addEventListener('theme', draw);
};

// The value of a colour variable as a canvas takes it: rgb(r, g, b), or with an opacity.
export function color(name, opacity = 1) {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const [r, g, b] = getComputedStyle(probe).color.match(/[\d.]+/g);
  probe.remove();
  return `rgba(${r}, ${g}, ${b}, ${opacity})`;
}

export function addThemeButton(button) {
  button.onclick = () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    dispatchEvent(new Event('theme'));
  };
}
