import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readNativeCases, runNativeCase } from '../test/native-cases.ts'

/**
 * The rules of the language, one case each: see `cases/*.txt`. `test/native-cases.ts` describes
 * their format.
 */
for (const wanted of readNativeCases())
  test(`${wanted.file}: ${wanted.note}`, () => {
    assert.equal(runNativeCase(wanted), wanted.want, wanted.text)
  })
