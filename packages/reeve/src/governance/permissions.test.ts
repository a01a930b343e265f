import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import fc from 'fast-check'
import type { OrganizationAccess } from '../model/index.ts'
import { PROJECT_LEVELS, WORKSPACE_LEVELS } from './access/team-access.ts'
import {
  withImpliedAccess,
  IMPLIED_ACCESS,
  organizationPermissions,
  projectRights,
  NO_ROLE,
  teamRights,
  workspacePermissions,
  workspaceRights,
  type ProjectAccessInput,
  type OrganizationRole,
  type WorkspaceAccessInput,
} from './permissions.ts'

function holding(...access: readonly OrganizationAccess[]): OrganizationRole {
  return { ...NO_ROLE, isMember: true, access: withImpliedAccess(new Set(access)) }
}

function projectFacts(
  level?: v2.ProjectAccessLevel,
  fields: Partial<ProjectAccessInput> = {},
): ProjectAccessInput {
  const accesses = level === undefined ? [] : [{ access: level, ...PROJECT_LEVELS[level] }]
  return {
    isDefault: false,
    accesses,
    hasWorkspaceAccess: false,
    allowForceDelete: false,
    ...fields,
  }
}

function rightsIn(rights: object): string {
  return Object.entries(rights)
    .flatMap(([name, held]) => (held === true ? [name] : []))
    .join(' ')
}

const PROJECT_CASES = [
  { level: undefined, holds: '' },
  { level: 'read', holds: 'read' },
  { level: 'custom', holds: 'read' },
  { level: 'write', holds: 'read manageTags' },
  { level: 'maintain', holds: 'read createWorkspace manageTags' },
  {
    level: 'admin',
    holds:
      'read update destroy createWorkspace moveWorkspace manageTags replaceTags readTeams ' +
      'manageTeams',
  },
] as const
for (const { level, holds } of PROJECT_CASES)
  test(`project rights: ${level ?? 'no'} access gives ${holds || 'nothing'}`, () => {
    assert.equal(rightsIn(projectRights(holding(), projectFacts(level))), holds)
  })

test('project rights: custom access that may change settings does not remove tags', () => {
  const custom = projectFacts('custom')
  const accesses = custom.accesses.map((one) => ({
    ...one,
    projectAccess: { ...one.projectAccess, settings: 'delete' as const },
  }))
  const rights = projectRights(holding(), { ...custom, accesses })
  assert.equal(rightsIn(rights), 'read update destroy manageTags')
})

const EVERYTHING =
  'read update destroy createWorkspace moveWorkspace manageTags replaceTags readTeams manageTeams'
const ACCESS_CASES = [
  { access: 'manage-projects', isDefault: false, holds: EVERYTHING },
  { access: 'read-projects', isDefault: false, holds: 'read' },
  { access: 'manage-workspaces', isDefault: false, holds: 'read' },
  { access: 'manage-workspaces', isDefault: true, holds: 'read createWorkspace' },
  { access: 'manage-policies', isDefault: false, holds: 'read' },
  { access: 'manage-teams', isDefault: true, holds: '' },
] as const
for (const { access, isDefault, holds } of ACCESS_CASES)
  test(`project rights: ${access} in ${isDefault ? 'the default' : 'a'} project`, () => {
    const facts = projectFacts(undefined, { isDefault })
    assert.equal(rightsIn(projectRights(holding(access), facts)), holds)
  })

test('project rights: force requires the setting of the organization, or an owner', () => {
  const admin = projectFacts('admin', { allowForceDelete: true })
  assert.equal(projectRights(holding(), admin).forceDestroy, true)
  assert.equal(projectRights(holding(), projectFacts('admin')).forceDestroy, false)
  const owner = { ...holding(), isOwner: true }
  assert.equal(projectRights(owner, projectFacts()).forceDestroy, true)
})

const WORKSPACE_CASES = [
  { level: 'read', holds: 'read readVariables readState readOutputs' },
  { level: 'plan', holds: 'read queuePlan readVariables readState readOutputs manageTags' },
  {
    level: 'write',
    holds:
      'read queuePlan queueApply lock readVariables updateVariables readState readOutputs ' +
      'writeState manageTags',
  },
  {
    level: 'admin',
    holds:
      'read update destroy queuePlan queueApply lock forceUnlock readVariables updateVariables ' +
      'readState readOutputs writeState manageTags replaceTags manageTeams',
  },
  { level: 'custom', holds: 'read' },
] as const
for (const { level, holds } of WORKSPACE_CASES)
  test(`workspace rights: ${level} access gives ${holds}`, () => {
    const facts: WorkspaceAccessInput = {
      projectAccesses: [],
      accesses: [{ access: level, values: WORKSPACE_LEVELS[level] }],
      allowForceDelete: false,
    }
    assert.equal(rightsIn(workspaceRights(holding(), facts)), holds)
  })

test('workspace rights: an organization token may do everything but start runs', () => {
  const token = { ...holding(), isOwner: true, isOrganizationToken: true }
  const rights = workspaceRights(token, {
    projectAccesses: [],
    accesses: [],
    allowForceDelete: false,
  })
  const shown = workspacePermissions(rights)
  const missing = Object.entries(shown).flatMap(([name, held]) => (held ? [] : [name]))
  assert.deepEqual(missing, [
    'can-queue-run',
    'can-queue-apply',
    'can-queue-destroy',
    'can-create-state-versions',
  ])
})

test('workspace rights: an override requires its own access, or delegation', () => {
  const base = { projectAccesses: [], allowForceDelete: false }
  const given: WorkspaceAccessInput = {
    ...base,
    accesses: [
      { access: 'custom', values: { ...WORKSPACE_LEVELS.custom, 'policy-overrides': true } },
    ],
  }
  const none: WorkspaceAccessInput = { ...base, accesses: [] }
  const may = (standing: OrganizationRole, facts: WorkspaceAccessInput): boolean =>
    workspaceRights(standing, facts).overridePolicies
  assert.equal(may(holding('manage-policy-overrides'), none), true)
  assert.equal(may(holding('delegate-policy-overrides'), none), false)
  assert.equal(may(holding('delegate-policy-overrides'), given), true)
  assert.equal(may(holding(), given), false)
})

test('team rights: a caller who is not a member reads no team, not even a visible one', () => {
  const team = {
    id: 'team-1',
    isOwners: false,
    visibility: 'organization',
    allowMemberTokenManagement: true,
  } as const
  assert.equal(rightsIn(teamRights(NO_ROLE, team)), '')
})

const anyAccess = fc.uniqueArray(fc.constantFrom(...v2.ORGANIZATION_ACCESS))
const anyLevels = fc.array(fc.constantFrom(...v2.PROJECT_ACCESS_LEVELS), { maxLength: 4 })

const anyGrants = fc.record({ a: anyAccess, b: anyAccess, some: anyLevels, more: anyLevels })

test('grants are additive: more access never removes a right', () => {
  fc.assert(
    fc.property(anyGrants, ({ a, b, some, more }) => {
      const facts = (levels: readonly v2.ProjectAccessLevel[]): ProjectAccessInput => ({
        ...projectFacts(),
        accesses: levels.map((access) => ({ access, ...PROJECT_LEVELS[access] })),
      })
      const [less, all] = [holding(...a), holding(...a, ...b)]
      const pairs: readonly (readonly [object, object])[] = [
        [organizationPermissions(less), organizationPermissions(all)],
        [projectRights(less, facts(some)), projectRights(all, facts([...some, ...more]))],
      ]
      for (const [before, after] of pairs)
        for (const [name, held] of Object.entries(before))
          if (held === true) assert.equal(Reflect.get(after, name), true, name)
    }),
  )
})

test('access: implied access is complete, so adding it again changes nothing', () => {
  fc.assert(
    fc.property(anyAccess, (access) => {
      const closed = withImpliedAccess(new Set(access))
      assert.deepEqual(withImpliedAccess(closed), closed)
      for (const [name, ...implied] of IMPLIED_ACCESS)
        if (closed.has(name)) assert.ok(implied.every((one) => closed.has(one)))
    }),
  )
})
