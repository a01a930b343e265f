import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planWarnings } from './record-texts.ts'

test('each warning is an item, without the denials', () => {
  assert.deepEqual(planWarnings(''), [])
  assert.deepEqual(planWarnings('1 warning:\n\n* would be denied: by "limits"'), [])
  const text = '3 warnings:\n\n* first\n* would be denied: by "limits"\n* second\n  line'
  assert.deepEqual(planWarnings(text), ['first', 'second\n  line'])
})

test('a text without items is one warning', () => {
  assert.deepEqual(planWarnings('The region is read-only.\n'), ['The region is read-only.'])
})
