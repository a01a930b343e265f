import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { scopeText } from './policy-text.ts'

interface Scope {
  readonly global?: boolean
  readonly projects?: number
  readonly workspaces?: number
  readonly namespaces?: readonly string[]
  readonly tags?: v2.PolicySet['attributes']['tag-selectors']
}

/** Only what the text is made of. */
function aSet(scope: Scope): v2.PolicySet {
  const set = {
    attributes: {
      global: scope.global ?? false,
      'project-count': scope.projects ?? 0,
      'workspace-count': scope.workspaces ?? 0,
      'tag-selectors': scope.tags ?? [],
    },
    relationships: {
      namespaces: { data: (scope.namespaces ?? []).map((id) => ({ type: 'namespaces', id })) },
    },
  }
  // The rest of a policy set says nothing of where it applies.
  return set as unknown as v2.PolicySet
}

const tag = (key: string, value: string | null, isExcluded = false) => ({
  'tag-key': key,
  'tag-value': value,
  'is-exclude': isExcluded,
})

const cases = [
  { name: 'a global set', scope: { global: true }, text: 'everything in the organization' },
  { name: 'a new set', scope: {}, text: 'nothing yet' },
  { name: 'one project', scope: { projects: 1 }, text: '1 project' },
  {
    name: 'several kinds',
    scope: { projects: 2, workspaces: 1, namespaces: ['default'] },
    text: '2 projects, 1 workspace, 1 namespace',
  },
  {
    name: 'tags, with and without a value',
    scope: { tags: [tag('env', 'prod'), tag('audited', null, true)] },
    text: 'tags env: prod, not audited',
  },
]
for (const { name, scope, text } of cases)
  test(`where ${name} applies`, () => assert.equal(scopeText(aSet(scope)), text))
