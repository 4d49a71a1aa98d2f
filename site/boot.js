// Runs before the first paint: the chosen theme, and a plain word where a browser refuses modules.
(function () {
  'use strict';
  try {
    var theme = window.localStorage.getItem('peakline.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch (_) {
    // A framed page may have no storage; the system's theme is used.
  }
  if (window.location.protocol === 'file:') {
    document.addEventListener('DOMContentLoaded', function () {
      document.getElementById('from-file').hidden = false;
    });
  }
})();
