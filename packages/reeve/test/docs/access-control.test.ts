import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  HOST_VOLUME_CAPABILITIES,
  NAMESPACE_CAPABILITIES,
  NODE_POOL_CAPABILITIES,
  OPERATOR_CAPABILITIES,
  VARIABLE_CAPABILITIES,
} from '@reeve/contract'
import { parseAclRules } from '../../src/acl/index.ts'

const PAGE = await readFile(
  join(import.meta.dirname, '../../../../docs/reference/access-control.md'),
  'utf8',
)

/** The capabilities in the second column of the row that begins with a shorthand. */
function capabilitiesOf(policy: string): readonly string[] {
  const row = new RegExp(`^\\| \`${policy}\` \\| (.*) \\|$`, 'm').exec(PAGE)?.[1] ?? ''
  return [...row.matchAll(/`([a-z]+-[a-z-]+)`/g)].map(([, name = '']) => name)
}

test('docs/reference/access-control.md: the rules on it are rules', () => {
  const blocks = [...PAGE.matchAll(/^```hcl\n(.*?)^```$/gms)].map(([, text = '']) => text)
  assert.notEqual(blocks.length, 0)
  for (const text of blocks) assert.deepEqual(parseAclRules(text).ok, true, text)
})

test('docs/reference/access-control.md: every capability stands on it', () => {
  const all = [
    ...NAMESPACE_CAPABILITIES,
    ...NODE_POOL_CAPABILITIES,
    ...HOST_VOLUME_CAPABILITIES,
    ...OPERATOR_CAPABILITIES,
    ...VARIABLE_CAPABILITIES,
  ]
  assert.deepEqual(
    all.filter((capability) => !PAGE.includes(`\`${capability}\``)),
    [],
  )
})

test('docs/reference/access-control.md: what is said to allow something is asked for by an operation', async () => {
  const file = join(import.meta.dirname, '../../../contract/routes.txt')
  const signatures = await readFile(file, 'utf8')
  const [, rows = ''] = /^\| Capability \| Allows \|\n.*\n((?:\|.*\n)+)/m.exec(PAGE) ?? []
  const names = [...rows.matchAll(/`([a-z]+-[a-z-]+)`/g)].map(([, name = '']) => name)
  assert.ok(names.length > 10)
  assert.deepEqual(
    names.filter((name) => !signatures.includes(`namespace:${name}`)),
    [],
  )
})

for (const policy of ['read', 'scale', 'write'])
  test(`docs/reference/access-control.md: what ${policy} stands for in a namespace`, () => {
    const rules = parseAclRules(`namespace "a" { policy = "${policy}" }`)
    const granted = rules.ok ? (rules.value.Namespaces?.[0]?.Capabilities ?? []) : []
    const told = capabilitiesOf(policy)
    const withRead = policy === 'write' ? [...capabilitiesOf('read'), ...told] : told
    assert.deepEqual(withRead.toSorted(), [...granted].toSorted())
  })
