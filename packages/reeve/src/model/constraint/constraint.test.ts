import assert from 'node:assert/strict'
import test from 'node:test'
import { operandTest } from './constraint.ts'

type Side = string | undefined
const cases: readonly (readonly [operand: string, left: Side, right: Side, meets: boolean])[] = [
  ['=', 'linux', 'linux', true],
  ['==', 'linux', 'windows', false],
  ['is', undefined, undefined, false],
  ['=', undefined, 'linux', false],
  ['!=', 'a', 'b', true],
  ['not', 'a', 'a', false],
  ['!=', undefined, 'a', true],
  ['!=', undefined, undefined, false],
  ['<', '9', '10', true],
  ['<', '9.5', '10', true],
  ['<', '9x', '10', false],
  ['<', 'abc', 'abd', true],
  ['<=', '10', '10', true],
  ['>', '9007199254740993', '9007199254740992', true],
  ['>=', '-1', '+1', false],
  ['>', '1e3', '999', true],
  ['<', undefined, '1', false],
  ['<', '1', undefined, false],
  ['regexp', 'ubuntu-22.04', '[0-9]{2}\\.[0-9]{2}', true],
  ['regexp', 'ubuntu', '^u.*u$', true],
  ['regexp', 'ubuntu', '(', false],
  ['regexp', undefined, '.*', false],
  ['version', '1.2.3', '>= 1.2, < 2', true],
  ['version', '1.2.3', '> 1.2.3', false],
  ['version', 'v4.19.0-21', '>= 4.0', false],
  ['version', '1.2.0-beta', '>= 1.2.0-alpha', true],
  ['version', '1.3.0-beta', '>= 1.2.0-alpha', false],
  ['version', '1.2rc1', '= 1.2rc1', true],
  ['version', '1.9.4', '~> 1.2', true],
  ['version', '2.0.0', '~> 1.2', false],
  ['version', '1.2.9', '~> 1.2.3', true],
  ['version', '1.3.0', '~> 1.2.3', false],
  ['version', '1.2', '1.2.0', true],
  ['version', 'unknown', '>= 0', false],
  ['version', '1.0', 'about one', false],
  ['semver', '1.0.0-beta.11', '> 1.0.0-beta.2', true],
  ['semver', '1.3.0-beta', '>= 1.2.0', true],
  ['semver', '1.0.0', '> 1.0.0-rc.1', true],
  ['semver', '1.0.0-alpha', '< 1.0.0-alpha.1', true],
  ['semver', '1.0.0-1', '< 1.0.0-a', true],
  ['semver', '1.2.3', '~> 1.2', false],
  ['semver', '1.2rc1', '>= 1.0', false],
  ['set_contains', 'a, b,c', 'c,a', true],
  ['set_contains', 'a,b', 'a,d', false],
  ['set_contains_all', 'a,b', 'b', true],
  ['set_contains_any', 'a,b', 'x, b', true],
  ['set_contains_any', 'a,b', 'x,y', false],
  ['set_contains', undefined, 'a', false],
  ['is_set', 'x', '', true],
  ['is_set', undefined, '', false],
  ['is_not_set', undefined, '', true],
  ['is_not_set', '', '', false],
  ['like', 'a', 'a', false],
  ['constructor', 'a', 'a', false],
]

for (const [operand, left, right, meets] of cases)
  test(`operand: ${left} ${operand} ${right} is ${meets}`, () => {
    assert.equal(operandTest(operand)(left, right), meets)
  })

test('operand: changing right side is recompiled', () => {
  const matches = operandTest('regexp')
  assert.deepEqual(
    [matches('a1', 'a'), matches('a1', 'b'), matches('a1', '1')],
    [true, false, true],
  )
})

test('operand: malicious expression does not stall or match', () => {
  assert.equal(operandTest('regexp')('a'.repeat(20_000), '(a+)+$b'), false)
  assert.equal(operandTest('regexp')('a', '(((.{500}){500}){500})'), false)
  assert.equal(operandTest('version')('1'.repeat(100_000), '>= 1'), false)
})
