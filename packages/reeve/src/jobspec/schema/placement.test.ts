import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJobFile } from '../parse-job-file.ts'

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

const operators = [
  {
    source: 'attribute = "${attr.a}"\nvalue = "b"',
    rule: { LTarget: '${attr.a}', Operand: '=', RTarget: 'b' },
  },
  {
    source: 'attribute = "a"\noperator = "!="\nvalue = 3',
    rule: { LTarget: 'a', Operand: '!=', RTarget: '3' },
  },
  {
    source: 'attribute = "a"\nversion = ">= 1"',
    rule: { LTarget: 'a', Operand: 'version', RTarget: '>= 1' },
  },
  {
    source: 'attribute = "a"\nsemver = ">= 1"',
    rule: { LTarget: 'a', Operand: 'semver', RTarget: '>= 1' },
  },
  {
    source: 'attribute = "a"\nregexp = "x"',
    rule: { LTarget: 'a', Operand: 'regexp', RTarget: 'x' },
  },
  {
    source: 'attribute = "a"\nset_contains = "x,y"',
    rule: { LTarget: 'a', Operand: 'set_contains', RTarget: 'x,y' },
  },
  {
    source: 'attribute = "a"\nset_contains_any = "x"',
    rule: { LTarget: 'a', Operand: 'set_contains_any', RTarget: 'x' },
  },
  {
    source: 'attribute = "a"\nset_contains_all = "x"',
    rule: { LTarget: 'a', Operand: 'set_contains_all', RTarget: 'x' },
  },
  { source: 'distinct_hosts = true', rule: { Operand: 'distinct_hosts', RTarget: 'true' } },
  { source: 'distinct_hosts = false', rule: { Operand: 'distinct_hosts', RTarget: 'false' } },
  {
    source: 'distinct_property = "${meta.rack}"\nvalue = 2',
    rule: { LTarget: '${meta.rack}', Operand: 'distinct_property', RTarget: '2' },
  },
  { source: 'is_set = "${attr.x}"', rule: { LTarget: '${attr.x}', Operand: 'is_set' } },
  { source: 'attribute = "a"\nis_set = true', rule: { LTarget: 'a', Operand: 'is_set' } },
  { source: 'attribute = "a"\nis_set = false', rule: { LTarget: 'a', Operand: 'is_not_set' } },
  { source: 'attribute = "a"\nis_not_set = true', rule: { LTarget: 'a', Operand: 'is_not_set' } },
  { source: 'attribute = "a"\noperator = "is_set"', rule: { LTarget: 'a', Operand: 'is_set' } },
]

for (const c of operators)
  test(`parseJobFile: the constraint ${JSON.stringify(c.source)}`, () => {
    const text = `job "j" {\nconstraint {\n${c.source}\n}\n}`
    const result = parseJobFile({ ...request, text })
    assert.ok(result.ok)
    const unset = { LTarget: null, RTarget: null, Operand: null }
    assert.deepEqual(result.value.job.Constraints, [{ ...unset, ...c.rule }])
  })
