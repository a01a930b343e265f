import { createClient } from '@reeve/sdk'
import {
  ALLOCATION_TABS,
  JOB_TABS,
  NODE_TABS,
  ORGANIZATION_TABS,
  paths,
  POLICY_PANES,
  WORKSPACE_TABS,
} from '../../packages/web/src/paths.ts'
import {
  ORGANIZATION,
  POOL,
  SERVICE,
  VARIABLE,
  WORKSPACE,
  type Site,
} from '../../packages/web/test/site.ts'
import { NAMESPACE } from './cluster.ts'

/** One picture: what its file is called, and where it is taken. */
export type Shot = readonly [name: string, href: string]

/** Every page with every tab, where most is to be seen on it. */
export async function findShots(address: string, site: Site): Promise<readonly Shot[]> {
  const client = createClient({ address, token: site.manager })
  const ofWeb = { params: { job_id: 'web' }, query: { namespace: NAMESPACE } }
  const allocations = (await client.v1.listJobAllocations(ofWeb)).data
  const running = allocations.find(({ ClientStatus }) => ClientStatus === 'running')
  const deployments = (await client.v1.listJobDeployments(ofWeb)).data
  const deployment = deployments.toSorted((a, b) => b.CreateIndex - a.CreateIndex)[0]
  const blocked = await client.v1.listJobEvaluations({ ...ofWeb, params: { job_id: 'vast' } })
  const evaluation = blocked.data.find(({ Status }) => Status === 'blocked') ?? blocked.data[0]
  return [
    ['sign-in', paths.signIn()],
    ['session', paths.session()],
    ...jobShots(),
    ...allocationShots(running?.ID ?? site.allocation),
    ...clusterShots(site),
    ['deployment', paths.deployment(deployment?.ID ?? site.deployment)],
    ['evaluation', paths.evaluation(evaluation?.ID ?? site.evaluation)],
    ...accessShots(site),
    ...governanceShots(site),
  ]
}

function jobShots(): readonly Shot[] {
  const web = { namespace: NAMESPACE, id: 'web' }
  const judged = { namespace: 'default', id: 'walked' }
  const vast = { namespace: NAMESPACE, id: 'vast' }
  return [
    ['jobs', paths.jobs()],
    ['job', paths.job(web)],
    ...JOB_TABS.slice(1).map((tab): Shot => {
      const shown = { verdicts: judged, explain: vast } as const
      const job = tab === 'verdicts' || tab === 'explain' ? shown[tab] : web
      return [`job-${tab}`, paths.job(job, tab)]
    }),
    ['job-edit', `${paths.job(web, 'definition')}&edit=yes`],
    ['job-dispatched', paths.job({ namespace: NAMESPACE, id: 'resize' })],
    ['run-job', paths.runJob()],
  ]
}

function allocationShots(id: string): readonly Shot[] {
  return [
    ['allocations', paths.allocations()],
    ['allocation', paths.allocation(id)],
    ...ALLOCATION_TABS.slice(1).map((tab): Shot => [
      `allocation-${tab}`,
      paths.allocation(id, tab),
    ]),
  ]
}

function clusterShots({ node }: Site): readonly Shot[] {
  return [
    ['nodes', paths.nodes()],
    ['node', paths.node(node)],
    ...NODE_TABS.slice(1).map((tab): Shot => [`node-${tab}`, paths.node(node, tab)]),
    ['node-pools', paths.nodePools()],
    ['node-pool', paths.nodePool(POOL)],
    ['topology', paths.topology()],
    ['deployments', paths.deployments()],
    ['evaluations', paths.evaluations()],
    ['events', paths.events()],
    ['services', paths.services()],
    ['service', paths.service({ namespace: 'default', id: SERVICE })],
    ['variables', paths.variables()],
    ['variable', paths.variable({ namespace: 'default', id: VARIABLE })],
    ['new-variable', paths.newVariable()],
    ['namespaces', paths.namespaces()],
  ]
}

function accessShots({ tokenAccessor }: Site): readonly Shot[] {
  return [
    ['tokens', paths.tokens()],
    ['token', paths.token(tokenAccessor)],
    ['access-policies', paths.accessPolicies()],
    ['access-policy', paths.accessPolicy('lookers')],
    ['new-access-policy', paths.newAccessPolicy()],
    ['roles', paths.roles()],
  ]
}

function governanceShots(site: Site): readonly Shot[] {
  return [
    ['organizations', paths.organizations()],
    ...ORGANIZATION_TABS.map((tab): Shot => [
      `organization-${tab}`,
      paths.organization(ORGANIZATION, tab),
    ]),
    ['project', paths.project(ORGANIZATION, site.project)],
    ...WORKSPACE_TABS.map((tab): Shot => [
      `workspace-${tab}`,
      paths.workspace(ORGANIZATION, WORKSPACE, tab),
    ]),
    ['team', paths.team(ORGANIZATION, site.team)],
    ...POLICY_PANES.map((pane): Shot => [
      `policy-${pane}`,
      paths.policy(ORGANIZATION, site.policy, { pane }),
    ]),
    ['policy-set', paths.policySet(ORGANIZATION, site.policySet)],
    ['run', paths.run(ORGANIZATION, site.run)],
    ['verdicts', paths.verdicts()],
    ['verdict', paths.verdict('default', site.verdict)],
  ]
}
