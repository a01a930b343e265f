import { createClient, resource, toMany, toOne, type Client } from '@reeve/sdk'
import { runFile, serviceFile } from './jobs.ts'
import type { Program } from './program.ts'

/** One of everything that has a page. */
export interface Site {
  readonly manager: string
  /** May read the jobs of a namespace, and little else. */
  readonly guest: string
  /** Of a team that may read one project. */
  readonly governanceGuest: string
  readonly allocation: string
  readonly node: string
  readonly deployment: string
  readonly evaluation: string
  readonly verdict: string
  readonly tokenAccessor: string
  readonly project: string
  readonly team: string
  readonly policy: string
  readonly policySet: string
  readonly run: string
}

export const JOB = 'walked'
export const SERVICE = 'walked-http'
export const VARIABLE = 'apps/walked/db'
export const POOL = 'gpu'
export const ORGANIZATION = 'acme'
export const WORKSPACE = 'front'

const CODE = `small = rule {
  all job.task_groups as g { g.count <= 3 }
}

main = rule { small }
`
const ACME = { organization_name: ORGANIZATION }

/** Needs a program with access control: management opens both APIs. */
export async function makeSite({ address, client }: Program): Promise<Site> {
  const manager = (await client.v1.bootstrapAcl({ body: {} })).data.SecretID
  const api = createClient({ address, token: manager })
  const governed = await govern(api)
  await runFile(api, walkedFile())
  // Judged, and denied: which is what it is for.
  await runFile(api, walkedFile().replace('count = 1', 'count = 9')).catch(() => undefined)
  await api.v1.writeVariable({ params: { path: VARIABLE }, body: { Items: { user: 'web' } } })
  await api.v1.writeNodePool({ body: { Name: POOL, Description: 'With graphics cards' } })
  const access = await makeAccess(api)
  return { manager, ...access, ...governed, ...(await placed(api)) }
}

function walkedFile(): string {
  return serviceFile(JOB, { count: 1 })
    .replace('group "app" {', 'group "app" {\n    network {\n      port "http" {}\n    }')
    .replace(
      'task "main" {',
      `service {\n      name     = "${SERVICE}"\n      port     = "http"\n      provider = "service"\n    }\n    task "main" {`,
    )
}

async function placed(api: Client) {
  const params = { job_id: JOB }
  const found = await (async () => {
    for await (const { data } of api.blocking('listJobAllocations', { params })) {
      const running = data.find(({ ClientStatus }) => ClientStatus === 'running')
      if (running !== undefined) return running
    }
    throw new Error('the list ended')
  })()
  const deployments = await api.v1.listJobDeployments({ params })
  const verdicts = await api.v1.listPolicyVerdicts()
  return {
    allocation: found.ID,
    node: found.NodeID,
    evaluation: found.EvalID,
    deployment: deployments.data[0]?.ID ?? '',
    verdict: verdicts.data[0]?.ID ?? '',
  }
}

async function makeAccess(api: Client) {
  const params = { policy_name: 'lookers' }
  const Rules = 'namespace "default" { policy = "read" }\nnode { policy = "read" }'
  await api.v1.writeAclPolicy({ params, body: { Name: 'lookers', Rules } })
  await api.v1.createAclRole({ body: { Name: 'lookers', Policies: [{ Name: 'lookers' }] } })
  const body = { Name: 'Ada', Type: 'client' as const, Policies: ['lookers'] }
  const { data } = await api.v1.createAclToken({ body })
  return { guest: data.SecretID, tokenAccessor: data.AccessorID }
}

async function govern({ v2 }: Client) {
  const email = 'ops@acme.example'
  await v2.createOrganization({ body: resource('organizations', { name: ORGANIZATION, email }) })
  const body = resource('projects', { name: 'Web shop' })
  const project = (await v2.createProject({ params: ACME, body })).data.data.id
  const policy = await makePolicy(v2)
  const policySet = await v2.createPolicySet({
    params: ACME,
    body: resource(
      'policy-sets',
      { name: 'rules', kind: 'native' },
      {
        policies: toMany('policies', [policy]),
        projects: toMany('projects', [project]),
        namespaces: toMany('namespaces', ['default']),
      },
    ),
  })
  await v2.createReservedTagKey({
    params: ACME,
    body: resource('reserved-tag-keys', { key: 'env' }),
  })
  await v2.createOrganizationToken({ params: ACME })
  await v2.createOrganizationToken({ params: ACME, query: { token: 'audit-trails' } })
  const team = await makeTeam(v2, project)
  const run = await makeRun(v2, project)
  return { project, policy, policySet: policySet.data.data.id, run, ...team }
}

async function makePolicy(v2: Client['v2']): Promise<string> {
  const attributes = { name: 'few', kind: 'native', 'enforcement-level': 'soft-mandatory' } as const
  const { data } = await v2.createPolicy({ params: ACME, body: resource('policies', attributes) })
  await v2.uploadPolicy({ params: { policy_id: data.data.id }, body: CODE })
  return data.data.id
}

async function makeTeam(v2: Client['v2'], project: string) {
  const attributes = {
    name: 'readers',
    visibility: 'organization',
    'allow-member-token-management': false,
  } as const
  const made = await v2.createTeam({ params: ACME, body: resource('teams', attributes) })
  const team = made.data.data.id
  const to = { team: toOne('teams', team), project: toOne('projects', project) }
  await v2.createTeamProjectAccess({ body: resource('team-projects', { access: 'read' }, to) })
  const token = await v2.createSingleTeamToken({ params: { team_id: team } })
  return { team, governanceGuest: token.data.data.attributes.token ?? '' }
}

async function makeRun(v2: Client['v2'], project: string): Promise<string> {
  const inProject = { project: toOne('projects', project) }
  const body = resource('workspaces', { name: WORKSPACE }, inProject)
  const workspace = await v2.createWorkspace({ params: ACME, body })
  const of = { workspace: toOne('workspaces', workspace.data.data.id) }
  const { data } = await v2.createRun({ body: resource('runs', { message: 'First' }, of) })
  await v2.uploadPlan({
    params: { plan_id: data.data.relationships.plan.data.id },
    body: JSON.stringify({ format_version: '1.2', resource_changes: [] }),
  })
  return data.data.id
}
