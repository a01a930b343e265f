import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  formatViolation,
  toPolicyOutcome,
  decideEnforcement,
  type EnforcementLevel,
} from './enforcement.ts'

interface Row {
  readonly level: EnforcementLevel
  readonly status: 'passed' | 'failed' | 'errored'
  readonly overridable: boolean
  readonly override: boolean
  readonly expected: 'allowed' | 'denied' | 'overridden' | 'warned'
}

function* rows(): Iterable<Row> {
  for (const override of [false, true])
    for (const overridable of [false, true])
      for (const status of ['failed', 'errored'] as const) {
        const opens = override && overridable
        yield { level: 'advisory', status, overridable, override, expected: 'warned' }
        yield {
          level: 'soft-mandatory',
          status,
          overridable,
          override,
          expected: override ? 'overridden' : 'denied',
        }
        for (const level of ['hard-mandatory', 'mandatory'] as const)
          yield { level, status, overridable, override, expected: opens ? 'overridden' : 'denied' }
      }
  yield {
    level: 'hard-mandatory',
    status: 'passed',
    overridable: false,
    override: false,
    expected: 'allowed',
  }
}

function decide({ level, status, overridable, override }: Row): Row['expected'] {
  const policy = { name: 'p', level, description: null, query: null }
  const outcome = toPolicyOutcome(policy, { status, output: [], findings: [] }, overridable)
  const verdict = decideEnforcement([{ name: 's', overridable, outcomes: [outcome] }], override)
  assert.equal(verdict.isAllowed, verdict.denials.length === 0)
  if (verdict.denials.length > 0) return 'denied'
  if (verdict.overridden.length > 0) return 'overridden'
  return verdict.warnings.length > 0 ? 'warned' : 'allowed'
}

describe('decideEnforcement', () => {
  for (const row of rows())
    it(`${row.level} ${row.status}, set ${row.overridable ? '' : 'not '}overridable, override ${row.override}: ${row.expected}`, () => {
      assert.equal(decide(row), row.expected)
    })

  it('one denial among many denies', () => {
    const make = (level: EnforcementLevel, status: 'passed' | 'failed') =>
      toPolicyOutcome(
        { name: level, level, description: null, query: null },
        { status, output: [], findings: [] },
        false,
      )
    const sets = [
      {
        name: 'a',
        overridable: false,
        outcomes: [make('advisory', 'failed'), make('mandatory', 'passed')],
      },
      { name: 'b', overridable: false, outcomes: [make('hard-mandatory', 'failed')] },
    ]
    const verdict = decideEnforcement(sets, true)
    assert.equal(verdict.isAllowed, false)
    assert.deepEqual(
      verdict.denials.map(({ set, outcome }) => [set, outcome.policy_name]),
      [['b', 'hard-mandatory']],
    )
  })

  it('a violation is formatted with policy, level, set, rule, location and reason', () => {
    const finding = { rule: 'main', line: 3, column: 5, message: 'x is false' }
    const outcome = toPolicyOutcome(
      { name: 'small', level: 'hard-mandatory', description: null, query: null },
      { status: 'failed', output: [], findings: [finding] },
      false,
    )
    assert.deepEqual(formatViolation({ set: 'base', effect: 'final', outcome }), [
      'policy "small" (hard-mandatory) of set "base" failed: rule main, line 3, column 5: x is false',
    ])
  })
})
