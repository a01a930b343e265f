/** Themes. The user's selection is kept in local storage; the default follows the system. */
export const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const STORAGE_KEY = 'reeve.theme'

export function readTheme(): Theme {
  const stored = localStorage.getItem(STORAGE_KEY)
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') {
    delete document.documentElement.dataset['theme']
    localStorage.removeItem(STORAGE_KEY)
  } else {
    document.documentElement.dataset['theme'] = theme
    localStorage.setItem(STORAGE_KEY, theme)
  }
}

/**
 * Replaces an invalid `navigator.language`. Browsers started with LANG=C report "en-US@posix", and
 * libraries that format numbers throw.
 */
export function repairLocale(browser: { readonly language: string }): void {
  if (isLanguageTag(browser.language)) return
  Object.defineProperty(browser, 'language', { value: 'en-US', configurable: true })
}

function isLanguageTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length > 0
  } catch {
    return false
  }
}
