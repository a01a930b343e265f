import assert from 'node:assert/strict'
import test from 'node:test'
import { expandRunShorthand } from './registry.ts'

const cases = [
  { typed: 'run web.hcl', means: 'job run web.hcl' },
  { typed: 'run -', means: 'job run -' },
  { typed: 'run ./jobs/web', means: 'job run ./jobs/web' },
  { typed: 'run --var count=3 web.hcl', means: 'job run --var count=3 web.hcl' },
  { typed: 'run -d web.json', means: 'job run -d web.json' },
  { typed: 'run list api', means: 'run list api' },
  { typed: 'run create api plan.json', means: 'run create api plan.json' },
  { typed: 'run', means: 'run' },
  { typed: 'run --help', means: 'run --help' },
  { typed: 'run lst', means: 'run lst' },
  { typed: 'job run web.hcl', means: 'job run web.hcl' },
]
for (const { typed, means } of cases)
  test(`expandShorthand: "reeve ${typed}" runs "reeve ${means}"`, () => {
    assert.equal(expandRunShorthand(typed.split(' ')).join(' '), means)
  })
