import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromJson } from '../value/json.ts'
import { RuleCoverage } from './coverage.ts'
import { compileRego } from './program.ts'

const MODULE = {
  file: 'a.rego',
  text: `package a
allow if input.role == "admin"
allow if input.role == "owner"
default level := 0
level := 9 if allow
`,
}

test('coverage: a rule is reached when it had a value in some evaluation', () => {
  const compiled = compileRego({ modules: [MODULE], version: 1 })
  assert.ok(compiled.ok)
  const level = compiled.value.prepareDocument('data.a.level', { explain: true })
  assert.ok(level.ok)
  const coverage = new RuleCoverage()
  coverage.add(MODULE, 1)
  const reports = ['none', 'admin'].map((role) => {
    level.value.evaluate({ input: fromJson({ role }), trace: coverage.addTraceEvent })
    return coverage.report()
  })
  assert.deepEqual(reports, [
    [{ file: 'a.rego', rules: 4, reached: 1, missedRows: [2, 3, 5] }],
    [{ file: 'a.rego', rules: 4, reached: 3, missedRows: [3] }],
  ])
})

test('coverage: a module that cannot be parsed and one that was not added do not count', () => {
  const coverage = new RuleCoverage()
  coverage.add({ file: 'b.rego', text: 'package' }, 1)
  assert.deepEqual(coverage.report(), [])
})
