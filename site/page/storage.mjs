// Storage that may not be there: in a third-party frame every access can throw.

function guarded(kind) {
  return {
    get(key) {
      try {
        return window[kind].getItem(`peakline.${key}`);
      } catch {
        return null;
      }
    },
    // Null removes the key. False where nothing could be kept.
    set(key, value) {
      try {
        if (value === null) window[kind].removeItem(`peakline.${key}`);
        else window[kind].setItem(`peakline.${key}`, value);
        return true;
      } catch {
        return this.forget(key);
      }
    },
    // What could not be replaced must not come back in its place.
    forget(key) {
      try {
        window[kind].removeItem(`peakline.${key}`);
      } catch {
        // There is no storage, and nothing in it.
      }
      return false;
    },
  };
}

export const kept = guarded('localStorage');
export const thisTab = guarded('sessionStorage');
