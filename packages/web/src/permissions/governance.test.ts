import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  attachNamespaceDisabledReason,
  organizationDisabledReason,
  overrideDisabledReason,
  projectDisabledReason,
  runDisabledReason,
  workspaceDisabledReason,
} from './governance.ts'

/** Only what the test is about. */
function aThing(attributes: object): { readonly attributes: never } {
  // A table reads the attributes that it names: those are given, whatever the resource is.
  return { attributes: attributes as never }
}

test('what the permissions allow is offered, the rest tells what it takes', () => {
  const permissions = { 'can-create-project': true, 'can-update-policies': false }
  const organization = aThing({ permissions })
  assert.equal(organizationDisabledReason.createProject(organization), undefined)
  assert.match(organizationDisabledReason.updatePolicies(organization) ?? '', /Manage policies/)
})

const projects = [
  { name: 'an empty project may go', isDefault: false, count: 0, reason: undefined },
  { name: 'the default project stays', isDefault: true, count: 0, reason: /default/ },
  { name: 'a project with workspaces stays', isDefault: false, count: 2, reason: /workspaces/ },
]
for (const { name, isDefault, count, reason } of projects)
  test(`delete: ${name}`, () => {
    const project = aThing({
      'is-default': isDefault,
      'workspace-count': count,
      permissions: { 'can-destroy': true },
    })
    const verdict = projectDisabledReason.destroy(project)
    if (reason === undefined) assert.equal(verdict, undefined)
    else assert.match(verdict ?? '', reason)
  })

test('a lock is put on what is open and taken from what is locked', () => {
  const permissions = { 'can-lock': true, 'can-unlock': true }
  const locked = aThing({ locked: true, permissions })
  const open = aThing({ locked: false, permissions })
  assert.equal(workspaceDisabledReason.lock(open), undefined)
  assert.match(workspaceDisabledReason.lock(locked) ?? '', /already locked/)
  assert.equal(workspaceDisabledReason.unlock(locked), undefined)
  assert.match(workspaceDisabledReason.unlock(open) ?? '', /not locked/)
})

test('a run is applied only while it waits for that', () => {
  const permissions = { 'can-apply': true }
  const waiting = aThing({ actions: { 'is-confirmable': true }, permissions })
  const done = aThing({ actions: { 'is-confirmable': false }, permissions })
  assert.equal(runDisabledReason.apply(waiting), undefined)
  assert.match(runDisabledReason.apply(done) ?? '', /not awaiting/)
})

test('who may not pass over policies is told what it takes', () => {
  const check = aThing({
    actions: { 'is-overridable': true },
    permissions: { 'can-override': false },
  })
  assert.match(overrideDisabledReason.check(check) ?? '', /Manage policy overrides/)
})

const givers = [
  { isAclEnabled: true, isSiteAdministrator: true, may: true },
  { isAclEnabled: true, isSiteAdministrator: false, may: false },
  { isAclEnabled: false, isSiteAdministrator: false, may: true },
  // The server decides meanwhile.
  { isAclEnabled: undefined, isSiteAdministrator: false, may: true },
  { isAclEnabled: true, isSiteAdministrator: undefined, may: true },
]
for (const { may, ...giver } of givers)
  test(`namespaces: ${JSON.stringify(giver)}`, () => {
    assert.equal(attachNamespaceDisabledReason(giver) === undefined, may)
  })
