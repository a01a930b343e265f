/**
 * A browser that is started with LANG=C calls its language "en-US@posix", which is no language tag:
 * libraries that format numbers for `navigator.language` throw when they are loaded.
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
