// Light or dark: as the system has it, until the button says otherwise.
const dark = matchMedia('(prefers-color-scheme: dark)');

const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? 'dark' : 'light')) === 'dark';

export function addThemeButton(button) {
  button.onclick = () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
  };
}
