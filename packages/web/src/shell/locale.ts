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
