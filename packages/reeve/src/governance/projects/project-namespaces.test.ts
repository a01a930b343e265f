import assert from 'node:assert/strict'
import { test } from 'node:test'
import { siteAdministratorCaller, type CallerIdentity } from '../caller.ts'
import { mayAssignNamespaces } from './project-namespaces.ts'

const site = siteAdministratorCaller('3f1f0ab5-0000-4000-8000-000000000001')
const team: CallerIdentity = {
  kind: 'team',
  tokenId: 'at-1',
  userId: 'user-1',
  organizationId: 'org-1',
  teamId: 'team-1',
}

const cases = [
  { name: 'the site administrator', caller: site, aclEnabled: true, may: true },
  { name: 'a team, where /v1 asks for rights', caller: team, aclEnabled: true, may: false },
  { name: 'a team, where /v1 asks for none', caller: team, aclEnabled: false, may: true },
]

for (const { name, caller, aclEnabled, may } of cases)
  test(`who gives namespaces to organizations: ${name}`, () => {
    assert.equal(mayAssignNamespaces({ aclEnabled }, caller), may)
  })
