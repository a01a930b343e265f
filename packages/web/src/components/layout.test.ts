import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { requiredWidth } from './layout.ts'

test('a table needs its fixed widths and something for each column that shares the rest', () => {
  assert.equal(requiredWidth([{}, { width: '100px' }]), 300)
  assert.equal(requiredWidth([{}, {}, { width: '80px' }]), 400)
})

test('a column in percent takes its part from the others', () => {
  assert.equal(requiredWidth([{}, { width: '34%' }, { width: '480px' }]), 1_000)
})

test('the style sheet has a rule for every width that is asked for', () => {
  const css = readFileSync(join(import.meta.dirname, '../style/table.css'), 'utf8')
  for (let width = 100; width <= 5_000; width += 50) {
    const room = requiredWidth([{ width: `${width}px` }])
    if (room >= 400) assert.ok(css.includes(`[data-room='${room}']`), `${room} px`)
  }
})
