import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatMultiError, formatWarnings } from './multi-error.ts'

const errors: readonly { name: string; messages: readonly string[]; text: string }[] = [
  { name: 'no error is no text', messages: [], text: '' },
  {
    name: 'one error',
    messages: ['Missing job datacenters'],
    text: '1 error occurred:\n\t* Missing job datacenters\n\n',
  },
  { name: 'several errors', messages: ['a', 'b'], text: '2 errors occurred:\n\t* a\n\t* b\n\n' },
]
for (const c of errors)
  test(`multi-error: ${c.name}`, () => {
    assert.equal(formatMultiError(c.messages), c.text)
  })

test('multi-error: a nested text is inserted as it is', () => {
  const task = `Task srv validation failed: ${formatMultiError(['Missing task driver'])}`
  assert.equal(
    `Task group web validation failed: ${formatMultiError([task])}`,
    'Task group web validation failed: 1 error occurred:\n' +
      '\t* Task srv validation failed: 1 error occurred:\n\t* Missing task driver\n\n\n\n',
  )
})

const warnings: readonly { name: string; messages: readonly string[]; text: string }[] = [
  { name: 'no warning is no text', messages: [], text: '' },
  { name: 'one warning', messages: ['a'], text: '1 warning:\n\n* a' },
  { name: 'several warnings', messages: ['a', 'b'], text: '2 warnings:\n\n* a\n* b' },
]
for (const c of warnings)
  test(`multi-error: ${c.name}`, () => {
    assert.equal(formatWarnings(c.messages), c.text)
  })
