import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { ErrorDocument } from './json-api.ts'
import { CreatedRunPolicyDocument, RunPolicyCreateRequest, RunPolicyDocument } from './policy.ts'
import {
  CreatedProjectDocument,
  MoveWorkspacesRequest,
  PROJECT_PERMISSIONS,
  ProjectCreateRequest,
  ProjectDocument,
  ProjectPage,
  ProjectUpdateRequest,
} from './project.ts'
import { v2Routes } from './routes.ts'
import { PlanExport } from './run-plan.ts'
import { EffectiveTagBindingList, TagBindingsChangeRequest } from './tag-binding.ts'
import { TeamProjectAccessCreateRequest } from './team-access.ts'
import { ORGANIZATION_ACCESS, TEAM_PERMISSIONS, TeamCreateRequest, TeamDocument } from './team.ts'
import {
  AuthenticationTokenDocument,
  AuthenticationTokenRequest,
  CreatedAuthenticationTokenDocument,
} from './token.ts'
import { WORKSPACE_PERMISSIONS, WorkspaceDocument } from './workspace.ts'

const at = '2026-02-03T10:11:12.345Z'
const suffix = '7HqYkT3mWc9RfX2b'

function flags(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, true]))
}

const related = (path: string) => ({ links: { related: `/api/v2/${path}` } })

const project = {
  id: `prj-${suffix}`,
  type: 'projects',
  attributes: {
    name: 'Payments',
    description: null,
    'created-at': at,
    'is-default': false,
    'workspace-count': 4,
    'team-count': 2,
    'auto-destroy-activity-duration': '14d',
    permissions: flags(PROJECT_PERMISSIONS),
  },
  relationships: {
    organization: { data: { id: 'acme', type: 'organizations' }, ...related('organizations/acme') },
    'tag-bindings': related(`projects/prj-${suffix}/tag-bindings`),
    'effective-tag-bindings': related(`projects/prj-${suffix}/effective-tag-bindings`),
  },
  links: { self: `/api/v2/projects/prj-${suffix}` },
}

const createdProject = {
  ...project,
  attributes: {
    name: 'Payments',
    description: null,
    'created-at': at,
    'is-default': false,
    'auto-destroy-activity-duration': null,
    permissions: { 'can-update': true },
  },
}

const policy = {
  id: `pol-${suffix}`,
  type: 'policies',
  attributes: {
    name: 'no-public-buckets',
    description: 'Buckets stay *private*.',
    kind: 'opa',
    query: 'data.buckets.deny',
    'enforcement-level': 'mandatory',
    enforce: [{ path: 'no-public-buckets.rego', mode: 'mandatory' }],
    'policy-set-count': 1,
    'updated-at': null,
    'created-at': at,
    'code-size': null,
    'code-sha256': null,
    diagnostics: [],
  },
  relationships: {
    organization: { data: { id: 'acme', type: 'organizations' } },
    'policy-sets': { data: [{ id: `polset-${suffix}`, type: 'policy-sets' }] },
  },
  links: {
    self: `/api/v2/policies/pol-${suffix}`,
    upload: `/api/v2/policies/pol-${suffix}/upload`,
    download: `/api/v2/policies/pol-${suffix}/download`,
  },
}

const workspace = {
  id: `ws-${suffix}`,
  type: 'workspaces',
  attributes: {
    name: 'payments-prod',
    description: null,
    'created-at': at,
    'updated-at': at,
    'latest-change-at': at,
    locked: true,
    'locked-reason': 'audit',
    'execution-mode': 'remote',
    'auto-apply': false,
    'auto-apply-run-trigger': false,
    'auto-destroy-at': null,
    'auto-destroy-activity-duration': '14d',
    'auto-destroy-status': null,
    'inherits-project-auto-destroy': true,
    'resource-count': 12,
    'policy-check-failures': 0,
    'run-failures': 1,
    source: 'api',
    'source-name': null,
    'source-url': null,
    'working-directory': null,
    'tool-version': '1.9.0',
    'structured-run-output-enabled': true,
    'drift-check-interval': null,
    'drift-status': null,
    'global-remote-state': false,
    'project-remote-state': true,
    'tag-names': ['core'],
    'setting-overwrites': { 'execution-mode': false },
    actions: { 'is-destroyable': true },
    permissions: flags(WORKSPACE_PERMISSIONS),
  },
  relationships: {
    organization: { data: { id: 'acme', type: 'organizations' } },
    project: { data: { id: `prj-${suffix}`, type: 'projects' } },
    'current-run': { data: null },
    'latest-run': { data: { id: `run-${suffix}`, type: 'runs' } },
    'locked-by': { data: { id: `user-${suffix}`, type: 'users' } },
    'tag-bindings': related(`workspaces/ws-${suffix}/tag-bindings`),
    'effective-tag-bindings': {
      ...related(`workspaces/ws-${suffix}/effective-tag-bindings`),
      data: [{ id: suffix, type: 'effective-tag-bindings' }],
    },
    'remote-state-consumers': related(`workspaces/ws-${suffix}/remote-state-consumers`),
  },
  links: { self: '/api/v2/workspaces/ws-1', 'self-html': '/ui/organizations/acme/workspaces/a' },
}

const team = {
  id: `team-${suffix}`,
  type: 'teams',
  attributes: {
    name: 'core',
    visibility: 'secret',
    'users-count': 1,
    'allow-member-token-management': true,
    'organization-access': flags(ORGANIZATION_ACCESS),
    permissions: flags(TEAM_PERMISSIONS),
  },
  relationships: {
    organization: { data: { id: 'acme', type: 'organizations' } },
    users: { data: [{ id: `user-${suffix}`, type: 'users' }] },
    'organization-memberships': { data: [] },
    'authentication-token': related(`teams/team-${suffix}/authentication-token`),
  },
  links: { self: `/api/v2/teams/team-${suffix}` },
}

const token = {
  id: `at-${suffix}`,
  type: 'authentication-tokens',
  attributes: {
    'created-at': at,
    'last-used-at': null,
    description: 'pipeline',
    token: null,
    'expired-at': at,
  },
  relationships: { 'created-by': { data: { id: `user-${suffix}`, type: 'users' } } },
}

const projectPage = {
  data: [project],
  links: {
    self: 'https://reeve.test/api/v2/organizations/acme/projects?page%5Bnumber%5D=1',
    first: 'https://reeve.test/api/v2/organizations/acme/projects?page%5Bnumber%5D=1',
    prev: null,
    next: null,
    last: 'https://reeve.test/api/v2/organizations/acme/projects?page%5Bnumber%5D=1',
  },
  meta: {
    'status-counts': { total: 3, matching: 1 },
    pagination: {
      'current-page': 1,
      'page-size': 20,
      'prev-page': null,
      'next-page': null,
      'total-pages': 1,
      'total-count': 1,
    },
  },
}

function bindings(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    type: 'tag-bindings',
    attributes: { key: `key${index}`, value: 'x' },
  }))
}

function newProject(attributes: object, tags: readonly object[] = []) {
  const relationships = { 'tag-bindings': { data: tags } }
  return { data: { type: 'projects', attributes, relationships } }
}

function newPolicy(attributes: object) {
  return { data: { type: 'policies', attributes } }
}

interface Case {
  readonly name: string
  readonly schema: TSchema
  readonly accepts: readonly unknown[]
  readonly refuses: readonly unknown[]
}

const cases: readonly Case[] = [
  {
    name: 'project document',
    schema: ProjectDocument,
    accepts: [{ data: project }, { data: project, included: [], meta: { notices: ['Said.'] } }],
    refuses: [
      {},
      { data: [project] },
      { data: createdProject },
      { data: { ...project, type: 'workspaces' } },
      { data: { ...project, id: 'prj-short' } },
      { data: { ...project, attributes: { ...project.attributes, 'workspace-count': '4' } } },
    ],
  },
  {
    name: 'created project document',
    schema: CreatedProjectDocument,
    accepts: [{ data: createdProject }],
    refuses: [{ data: { ...createdProject, links: {} } }],
  },
  {
    name: 'project page',
    schema: ProjectPage,
    accepts: [projectPage, { ...projectPage, data: [] }],
    refuses: [
      { ...projectPage, data: null },
      { ...projectPage, links: undefined },
      { ...projectPage, meta: { pagination: projectPage.meta.pagination } },
    ],
  },
  {
    name: 'project create request',
    schema: ProjectCreateRequest,
    accepts: [
      { data: { type: 'projects', attributes: { name: 'A Bob' } } },
      newProject({ name: 'abc', description: '', unknown: 1 }, bindings(10)),
      newProject({ name: 'abc', 'auto-destroy-activity-duration': null }),
      newProject({ name: 'abc', description: 'ä'.repeat(256) }),
    ],
    refuses: [
      null,
      [],
      { data: { attributes: { name: 'abc' } } },
      { data: { type: 'policies', attributes: { name: 'abc' } } },
      { data: { type: 'projects' } },
      newProject({}),
      newProject({ name: null }),
      newProject({ name: ['abc'] }),
      newProject({ name: 'abc', description: 'ä'.repeat(257) }),
      newProject({ name: 'abc', 'auto-destroy-activity-duration': '20m' }),
      newProject({ name: 'abc' }, bindings(11)),
      newProject({ name: 'abc' }, [{ type: 'tag-bindings', attributes: { value: 'x' } }]),
    ],
  },
  {
    name: 'project update request',
    schema: ProjectUpdateRequest,
    accepts: [
      { data: { type: 'projects', relationships: { 'tag-bindings': { data: [] } } } },
      { data: { type: 'projects', id: `prj-${suffix}`, attributes: { description: null } } },
    ],
    refuses: [{ data: { attributes: {} } }, newProject({ name: 'x' })],
  },
  {
    name: 'tag bindings request',
    schema: TagBindingsChangeRequest,
    accepts: [
      { data: bindings(10) },
      { data: [{ type: 'tag-bindings', attributes: { key: 'env', value: null } }] },
      { data: [{ type: 'tag-bindings', attributes: { key: 'env' } }] },
    ],
    refuses: [
      { data: [] },
      { data: bindings(26) },
      { data: [{ attributes: { key: 'env' } }] },
      { data: [{ type: 'tag-bindings', attributes: { key: 'env', value: 1 } }] },
    ],
  },
  {
    name: 'effective tag bindings',
    schema: EffectiveTagBindingList,
    accepts: [
      {
        data: [
          {
            id: suffix,
            type: 'effective-tag-bindings',
            attributes: { key: 'team', value: 'core', 'created-at': at },
            links: { 'inherited-from': `/api/v2/projects/prj-${suffix}` },
            relationships: {
              'inherited-from': { data: { id: `prj-${suffix}`, type: 'projects' } },
            },
          },
        ],
      },
    ],
    refuses: [{ data: [{ id: suffix, type: 'tag-bindings', attributes: { key: 'a' } }] }],
  },
  {
    name: 'move request',
    schema: MoveWorkspacesRequest,
    accepts: [{ data: [{ type: 'workspaces', id: 'nonexisting' }] }],
    refuses: [
      { data: [] },
      { data: {} },
      { data: [{ type: 'workspaces' }] },
      { data: [{ type: 'projects', id: 'x' }] },
      { data: Array.from({ length: 501 }, () => ({ type: 'workspaces', id: 'x' })) },
    ],
  },
  {
    name: 'policy document',
    schema: RunPolicyDocument,
    accepts: [{ data: policy }],
    refuses: [
      { data: { ...policy, links: { self: '/a', upload: '/b' } } },
      { data: { ...policy, attributes: { ...policy.attributes, enforce: [] } } },
      { data: { ...policy, attributes: { ...policy.attributes, kind: 'other' } } },
    ],
  },
  {
    name: 'created policy document',
    schema: CreatedRunPolicyDocument,
    accepts: [{ data: { ...policy, links: { self: '/a', upload: '/b' } } }],
    refuses: [{ data: { ...policy, links: { self: '/a' } } }],
  },
  {
    name: 'policy create request',
    schema: RunPolicyCreateRequest,
    accepts: [
      newPolicy({ name: 'a', 'enforcement-level': 'hard-mandatory' }),
      newPolicy({ name: 'a', enforce: [{ path: 'a.native', mode: 'advisory' }] }),
      newPolicy({ name: 'a', enforce: [{ mode: 'advisory' }], query: null }),
    ],
    refuses: [
      newPolicy({}),
      newPolicy({ name: 'a b' }),
      newPolicy({ name: 'a/b' }),
      newPolicy({ name: '' }),
      newPolicy({ name: 'a', kind: 'other' }),
      newPolicy({ name: 'a', enforce: [{ path: 'a.native' }] }),
      newPolicy({ name: 'a', 'enforcement-level': 'sometimes' }),
      newPolicy({ name: 'a', query: 7 }),
    ],
  },
  {
    name: 'workspace document',
    schema: WorkspaceDocument,
    accepts: [{ data: workspace }],
    refuses: [
      { data: { ...workspace, relationships: {} } },
      { data: { ...workspace, attributes: { ...workspace.attributes, locked: 'yes' } } },
    ],
  },
  {
    name: 'lock request',
    schema: v2Routes.lockWorkspace.body,
    accepts: [null, {}, { reason: '' }, { reason: 'audit' }],
    refuses: [{ reason: 1 }, []],
  },
  {
    name: 'team document',
    schema: TeamDocument,
    accepts: [{ data: team }],
    refuses: [{ data: { ...team, attributes: { ...team.attributes, visibility: 'public' } } }],
  },
  {
    name: 'team create request',
    schema: TeamCreateRequest,
    accepts: [
      {
        data: {
          type: 'teams',
          attributes: { name: 'core', 'organization-access': { 'manage-projects': true } },
        },
      },
    ],
    refuses: [
      {
        data: {
          type: 'teams',
          attributes: { name: 'core', 'organization-access': { 'manage-projects': 'yes' } },
        },
      },
    ],
  },
  {
    name: 'token document',
    schema: AuthenticationTokenDocument,
    accepts: [{ data: token }],
    refuses: [{ data: { ...token, attributes: { ...token.attributes, token: 'secret' } } }],
  },
  {
    name: 'created token document',
    schema: CreatedAuthenticationTokenDocument,
    accepts: [{ data: { ...token, attributes: { ...token.attributes, token: 'secret' } } }],
    refuses: [{ data: token }],
  },
  {
    name: 'token request',
    schema: AuthenticationTokenRequest,
    accepts: [
      { data: { type: 'authentication-token' } },
      { data: { type: 'authentication-tokens', attributes: { 'expired-at': at } } },
    ],
    refuses: [
      { data: { type: 'tokens' } },
      { data: { type: 'authentication-tokens', attributes: { 'expired-at': 'tomorrow' } } },
    ],
  },
  {
    name: 'team project access request',
    schema: TeamProjectAccessCreateRequest,
    accepts: [
      {
        data: {
          type: 'team-projects',
          attributes: {
            access: 'custom',
            'project-access': { settings: 'update' },
            'workspace-access': { move: true },
          },
          relationships: {
            team: { data: { id: `team-${suffix}`, type: 'teams' } },
            project: { data: { id: `prj-${suffix}`, type: 'projects' } },
          },
        },
      },
    ],
    refuses: [{ data: { type: 'team-projects', attributes: { access: 'read' } } }],
  },
  {
    name: 'plan',
    schema: PlanExport,
    accepts: [{ format_version: '1.2', resource_changes: [], planned_values: {} }],
    refuses: [{ resource_changes: [] }, { format_version: '1.2' }, []],
  },
  {
    name: 'error document',
    schema: ErrorDocument,
    accepts: [
      {
        errors: [
          {
            status: '422',
            title: 'invalid attribute',
            detail: 'Name may only contain letters, numbers, spaces, - and _',
            source: { pointer: '/data/attributes/name' },
          },
        ],
      },
    ],
    refuses: [
      { errors: [] },
      { errors: ['text'] },
      { errors: [{ status: 422, title: 'invalid attribute', detail: 'x' }] },
      { errors: [{ status: '404', title: 'not found' }] },
    ],
  },
]

for (const { name, schema, accepts, refuses } of cases) {
  test(`${name}: what is right is accepted and what is wrong refused`, () => {
    for (const value of accepts) assert.deepEqual([...Value.Errors(schema, value)], [])
    for (const value of refuses) assert.equal(Value.Check(schema, value), false, text(value))
  })
}

function text(value: unknown): string {
  return JSON.stringify(value).slice(0, 200)
}
