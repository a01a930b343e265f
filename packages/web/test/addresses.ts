import {
  ALLOCATION_TABS,
  JOB_TABS,
  NODE_POOL_TABS,
  NODE_TABS,
  ORGANIZATION_TABS,
  paths,
  POLICY_PANES,
  WORKSPACE_TABS,
} from '../src/paths.ts'
import { JOB, ORGANIZATION, POOL, SERVICE, VARIABLE, WORKSPACE, type Site } from './site.ts'

const job = { namespace: 'default', id: JOB }

/** Where each page of the site map is seen, with all its tabs. */
export const ADDRESSES: Readonly<Record<string, (site: Site) => readonly string[]>> = {
  '/': () => [paths.home()],
  '/sign-in': () => [paths.signIn()],
  '/session': () => [paths.session()],
  '/jobs': () => [paths.jobs()],
  '/jobs/:jobId': () => [paths.job(job)],
  '/jobs/:jobId/:tab': () => [
    ...JOB_TABS.slice(1).map((tab) => paths.job(job, tab)),
    `${paths.job(job, 'definition')}&edit=yes`,
    `${paths.job(job, 'logs')}&q=hello&type=stdout`,
  ],
  '/run': () => [paths.runJob()],
  '/allocations': () => [paths.allocations(), `${paths.allocations()}?order=oldest`],
  '/allocations/:allocId': (site) => [paths.allocation(site.allocation)],
  '/allocations/:allocId/:tab': (site) => [
    ...ALLOCATION_TABS.slice(1).map((tab) => paths.allocation(site.allocation, tab)),
    paths.allocationFiles(site.allocation, '/alloc/logs'),
  ],
  '/nodes': () => [paths.nodes()],
  '/nodes/:nodeId': (site) => [paths.node(site.node)],
  '/nodes/:nodeId/:tab': (site) => NODE_TABS.slice(1).map((tab) => paths.node(site.node, tab)),
  '/node-pools': () => [paths.nodePools()],
  '/node-pools/:poolName': () => [
    paths.nodePool(POOL),
    ...NODE_POOL_TABS.map((tab) => paths.nodePool('default', tab)),
  ],
  '/topology': () => [paths.topology()],
  '/deployments': () => [paths.deployments()],
  '/deployments/:deploymentId': (site) => [paths.deployment(site.deployment)],
  '/evaluations': () => [paths.evaluations()],
  '/evaluations/:evaluationId': (site) => [paths.evaluation(site.evaluation)],
  '/events': () => [paths.events()],
  '/services': () => [paths.services()],
  '/services/:serviceName': () => [paths.service({ namespace: 'default', id: SERVICE })],
  '/variables': () => [paths.variables()],
  '/variables/:path': () => {
    const href = paths.variable({ namespace: 'default', id: VARIABLE })
    return [href, `${href}&edit=yes`]
  },
  '/new-variable': () => [paths.newVariable()],
  '/namespaces': () => [paths.namespaces(), `${paths.namespaces()}?edit=default`],
  '/access/tokens': () => [paths.tokens()],
  '/access/tokens/:accessorId': (site) => [paths.token(site.tokenAccessor)],
  '/access/policies': () => [paths.accessPolicies()],
  '/access/policies/:policyName': () => [paths.accessPolicy('lookers')],
  '/access/new-policy': () => [paths.newAccessPolicy()],
  '/access/roles': () => [paths.roles()],
  '/organizations': () => [paths.organizations()],
  '/organizations/:organization': () => [paths.organization(ORGANIZATION)],
  '/organizations/:organization/projects/:projectId': (site) => [
    paths.project(ORGANIZATION, site.project),
  ],
  '/organizations/:organization/workspaces/:workspaceName': () =>
    WORKSPACE_TABS.map((tab) => paths.workspace(ORGANIZATION, WORKSPACE, tab)),
  '/organizations/:organization/runs/:runId': (site) => [paths.run(ORGANIZATION, site.run)],
  '/organizations/:organization/teams/:teamId': (site) => [paths.team(ORGANIZATION, site.team)],
  '/organizations/:organization/policies/:policyId': (site) =>
    POLICY_PANES.map((pane) => paths.policy(ORGANIZATION, site.policy, { pane, line: 2 })),
  '/organizations/:organization/policy-sets/:policySetId': (site) => [
    paths.policySet(ORGANIZATION, site.policySet),
  ],
  '/organizations/:organization/:tab': () =>
    ORGANIZATION_TABS.slice(1).map((tab) => paths.organization(ORGANIZATION, tab)),
  '/verdicts': () => [paths.verdicts()],
  '/verdicts/:verdictId': (site) => [paths.verdict('default', site.verdict)],
}

/** Who may do what: about the half of the pages. */
export function isGoverning(path: string): boolean {
  return GOVERNING.some((prefix) => path.startsWith(prefix))
}
const GOVERNING = ['/organizations', '/verdicts', '/access', '/namespaces', '/variables', '/new-']
