import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { REPOSITORY_ROOT as root } from '../source/finding.ts'
import { foldFragments, parseFragment, readFragments, withVersion } from './fragments.ts'

const added = parseFragment('b-added', 'kind: added\narea: http\n\nA route.\n\nBefore: none.\n')
const fixed = parseFragment('a-fixed', 'kind: fixed\narea: agent\n\nA fault.\n')
const other = parseFragment('a-added', 'kind: added\narea: cli\n\nA command.\n')

test('fragments: sections by kind, entries by area, whatever the order', () => {
  const folded = foldFragments([fixed, added, other])
  assert.equal(folded, foldFragments([other, added, fixed]))
  assert.equal(
    folded,
    `### Added

- **cli**: A command.

- **http**: A route.

  Before: none.

### Fixed

- **agent**: A fault.
`,
  )
})

test('fragments: one without a kind or an area is named', () => {
  for (const content of ['A change.\n', 'kind: new\narea: http\n\nA.\n', 'kind: added\n\nA.\n'])
    assert.throws(() => parseFragment('a-change', content), /changes\/a-change\.md must begin with/)
})

test('fragments: all of this repository are well-formed', () => {
  assert.ok(readFragments(join(root, 'changes')).length > 0)
})

test('fragments: a version is written once, before the earlier ones', () => {
  const log = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const next = withVersion(log, '99.0.0', foldFragments([fixed]))
  const versions = [...next.matchAll(/^## (\S+)$/gm)].map(([, version]) => version)
  assert.equal(versions[0], '99.0.0')
  assert.ok(versions.includes('0.1.0'))
  assert.throws(() => withVersion(next, '99.0.0', ''), /has a section 99\.0\.0 already/)
})
