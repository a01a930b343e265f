import assert from 'node:assert/strict'
import { test } from 'node:test'
import { repairLocale } from './browser-settings.ts'

for (const [language, wanted] of [
  ['de-CH', 'de-CH'],
  ['en', 'en'],
  ['en-US@posix', 'en-US'],
  ['C', 'en-US'],
  ['', 'en-US'],
] as const)
  test(`the language "${language}" is used as "${wanted}"`, () => {
    const browser = { language }
    repairLocale(browser)
    assert.equal(browser.language, wanted)
    assert.doesNotThrow(() => new Intl.NumberFormat(browser.language))
  })
