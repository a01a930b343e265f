import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../route.ts'
import { BASE_PATH } from './json-api.ts'
import { v2Routes } from './routes.ts'

const routes: readonly Route[] = Object.values(v2Routes)

// Routes that clients call beside those of the projects and policies API.
const reference: readonly (readonly [string, readonly string[]])[] = [
  [
    'account and organizations (4.1)',
    [
      'GET /ping',
      'GET /account/details',
      'PATCH /account/update',
      'GET /organizations',
      'POST /organizations',
      'GET /organizations/:organization_name',
      'PATCH /organizations/:organization_name',
      'DELETE /organizations/:organization_name',
      'GET /organizations/:organization_name/entitlement-set',
      'GET /organizations/:organization_name/organization-memberships',
      'POST /organizations/:organization_name/organization-memberships',
      'GET /organization-memberships/:organization_membership_id',
      'DELETE /organization-memberships/:organization_membership_id',
      'GET /organization-memberships',
    ],
  ],
  [
    'teams (4.2)',
    [
      'GET /organizations/:organization_name/teams',
      'POST /organizations/:organization_name/teams',
      'GET /teams/:team_id',
      'PATCH /teams/:team_id',
      'DELETE /teams/:team_id',
      'POST /teams/:team_id/relationships/users',
      'DELETE /teams/:team_id/relationships/users',
      'POST /teams/:team_id/relationships/organization-memberships',
      'DELETE /teams/:team_id/relationships/organization-memberships',
    ],
  ],
  [
    'tokens (4.3)',
    [
      'GET /organizations/:organization_name/authentication-token',
      'POST /organizations/:organization_name/authentication-token',
      'DELETE /organizations/:organization_name/authentication-token',
      'POST /teams/:team_id/authentication-tokens',
      'GET /teams/:team_id/authentication-token',
      'POST /teams/:team_id/authentication-token',
      'DELETE /teams/:team_id/authentication-token',
      'GET /organizations/:organization_name/team-tokens',
      'GET /users/:user_id/authentication-tokens',
      'POST /users/:user_id/authentication-tokens',
      'GET /authentication-tokens/:token_id',
      'DELETE /authentication-tokens/:token_id',
    ],
  ],
  [
    'team access (4.4)',
    [
      'GET /team-projects',
      'POST /team-projects',
      'GET /team-projects/:team_project_id',
      'PATCH /team-projects/:team_project_id',
      'DELETE /team-projects/:team_project_id',
      'GET /team-workspaces',
      'POST /team-workspaces',
      'GET /team-workspaces/:team_workspace_id',
      'PATCH /team-workspaces/:team_workspace_id',
      'DELETE /team-workspaces/:team_workspace_id',
    ],
  ],
  [
    'tags (2.3, 2.4)',
    [
      'GET /projects/:project_id/relationships/tag-bindings',
      'POST /projects/:project_id/relationships/tag-bindings',
      'PATCH /projects/:project_id/relationships/tag-bindings',
      'GET /organizations/:organization_name/reserved-tag-keys',
      'POST /organizations/:organization_name/reserved-tag-keys',
      'PATCH /reserved-tag-keys/:reserved_tag_key_id',
      'DELETE /reserved-tag-keys/:reserved_tag_key_id',
    ],
  ],
  [
    'workspaces (4.6)',
    [
      'GET /organizations/:organization_name/workspaces',
      'POST /organizations/:organization_name/workspaces',
      'GET /workspaces/:workspace_id',
      'PATCH /workspaces/:workspace_id',
      'DELETE /workspaces/:workspace_id',
      'GET /organizations/:organization_name/workspaces/:workspace_name',
      'PATCH /organizations/:organization_name/workspaces/:workspace_name',
      'DELETE /organizations/:organization_name/workspaces/:workspace_name',
      'POST /workspaces/:workspace_id/actions/safe-delete',
      'POST /workspaces/:workspace_id/actions/lock',
      'POST /workspaces/:workspace_id/actions/unlock',
      'POST /workspaces/:workspace_id/actions/force-unlock',
      'GET /workspaces/:workspace_id/tag-bindings',
      'PATCH /workspaces/:workspace_id/tag-bindings',
      'GET /workspaces/:workspace_id/effective-tag-bindings',
      'GET /workspaces/:workspace_id/relationships/tag-bindings',
      'POST /workspaces/:workspace_id/relationships/tag-bindings',
      'PATCH /workspaces/:workspace_id/relationships/tag-bindings',
      'GET /workspaces/:workspace_id/runs',
    ],
  ],
  [
    'policy sets (4.7)',
    [
      'POST /organizations/:organization_name/policy-sets',
      'GET /organizations/:organization_name/policy-sets',
      'GET /policy-sets/:policy_set_id',
      'PATCH /policy-sets/:policy_set_id',
      'DELETE /policy-sets/:policy_set_id',
      ...[
        'policies',
        'projects',
        'workspaces',
        'workspace-exclusions',
        'project-exclusions',
      ].flatMap((members) => [
        `POST /policy-sets/:policy_set_id/relationships/${members}`,
        `DELETE /policy-sets/:policy_set_id/relationships/${members}`,
      ]),
      'POST /policy-sets/:policy_set_id/tag-selectors',
      'DELETE /policy-sets/:policy_set_id/tag-selectors',
      'GET /policy-sets/:policy_set_id/parameters',
      'POST /policy-sets/:policy_set_id/parameters',
      'GET /policy-sets/:policy_set_id/parameters/:parameter_id',
      'PATCH /policy-sets/:policy_set_id/parameters/:parameter_id',
      'DELETE /policy-sets/:policy_set_id/parameters/:parameter_id',
      'GET /policy-sets/:policy_set_id/versions',
      'POST /policy-sets/:policy_set_id/versions',
      'GET /policy-set-versions/:policy_set_version_id',
    ],
  ],
  [
    'runs and evaluations (4.8, 5.4)',
    [
      'POST /runs',
      'GET /runs/:run_id',
      'PATCH /runs/:run_id',
      'POST /runs/:run_id/actions/apply',
      'POST /runs/:run_id/actions/discard',
      'POST /runs/:run_id/actions/cancel',
      'GET /plans/:plan_id',
      'GET /plans/:plan_id/json-output',
      'PUT /plans/:plan_id/upload',
      'GET /runs/:run_id/policy-checks',
      'GET /policy-checks/:policy_check_id',
      'GET /policy-checks/:policy_check_id/output',
      'POST /policy-checks/:policy_check_id/actions/override',
      'GET /runs/:run_id/task-stages',
      'GET /task-stages/:task_stage_id',
      'POST /task-stages/:task_stage_id/actions/override',
      'GET /task-stages/:task_stage_id/policy-evaluations',
      'GET /policy-evaluations/:policy_evaluation_id',
      'GET /policy-evaluations/:policy_evaluation_id/policy-set-outcomes',
      'GET /policy-set-outcomes/:policy_set_outcome_id',
      'POST /workspaces/:workspace_id/actions/evaluate-policies',
      'POST /policy-sets/:policy_set_id/actions/evaluate',
    ],
  ],
]

const known = new Set(
  routes.flatMap(({ methods, path }) =>
    methods.map((method) => `${method} ${path.slice(BASE_PATH.length)}`),
  ),
)

for (const [table, calls] of reference) {
  test(`calls that clients make exist: ${table}`, () => {
    for (const call of calls) assert.ok(known.has(call), call)
  })
}
