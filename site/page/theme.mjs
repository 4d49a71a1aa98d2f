// Light, dark, or as the system says; boot.js applies the choice before the first paint.
import {kept} from './storage.mjs';

const kThemes = ['automatic', 'light', 'dark'];

export function watchTheme(button) {
  const root = document.documentElement;
  const show = (theme) => {
    button.textContent = `Theme: ${theme}`;
  };
  show(root.dataset.theme ?? 'automatic');
  button.addEventListener('click', () => {
    const next = kThemes[(kThemes.indexOf(root.dataset.theme ?? 'automatic') + 1) % kThemes.length];
    if (next === 'automatic') delete root.dataset.theme;
    else root.dataset.theme = next;
    kept.set('theme', next === 'automatic' ? null : next);
    show(next);
  });
}
