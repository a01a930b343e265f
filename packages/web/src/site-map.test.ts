import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchPath } from './routing/route.ts'
import { BASE, paths } from './paths.ts'
import { routes } from './site-map.ts'

/** Every page that exists. A change here is a change of what people have bookmarked. */
const SITE_MAP = [
  '/',
  '/sign-in',
  '/session',
  '/jobs',
  '/jobs/:jobId',
  '/jobs/:jobId/:tab',
  '/run',
  '/allocations',
  '/allocations/:allocId',
  '/allocations/:allocId/:tab',
  '/nodes',
  '/nodes/:nodeId',
  '/nodes/:nodeId/:tab',
  '/node-pools',
  '/node-pools/:poolName',
  '/topology',
  '/deployments',
  '/deployments/:deploymentId',
  '/evaluations',
  '/evaluations/:evaluationId',
  '/events',
  '/services',
  '/services/:serviceName',
  '/variables',
  '/variables/:path',
  '/new-variable',
  '/namespaces',
  '/access/tokens',
  '/access/tokens/:accessorId',
  '/access/policies',
  '/access/policies/:policyName',
  '/access/new-policy',
  '/access/roles',
  '/organizations',
  '/organizations/:organization',
  '/organizations/:organization/projects/:projectId',
  '/organizations/:organization/workspaces/:workspaceName',
  '/organizations/:organization/runs/:runId',
  '/organizations/:organization/teams/:teamId',
  '/organizations/:organization/policies/:policyId',
  '/organizations/:organization/policy-sets/:policySetId',
  '/organizations/:organization/:tab',
  '/verdicts',
  '/verdicts/:verdictId',
]

test('the site map is what it was', () => {
  assert.deepEqual(
    routes.map(({ path }) => path),
    SITE_MAP,
  )
})

const JOB = { namespace: 'prod', id: 'web/dispatch-1' }
const ADDRESSES = [
  { href: paths.home(), route: '/' },
  { href: paths.signIn({ ott: 'secret' }), route: '/sign-in' },
  { href: paths.session(), route: '/session' },
  { href: paths.jobs({ namespace: '*' }), route: '/jobs' },
  { href: paths.job(JOB), route: '/jobs/:jobId' },
  { href: paths.job(JOB, 'versions'), route: '/jobs/:jobId/:tab' },
  { href: paths.jobVersions(JOB, { version: 3, against: 1 }), route: '/jobs/:jobId/:tab' },
  { href: paths.runJob({ namespace: 'prod' }), route: '/run' },
  { href: paths.organizations(), route: '/organizations' },
  { href: paths.organization('acme'), route: '/organizations/:organization' },
  { href: paths.organization('acme', 'teams'), route: '/organizations/:organization/:tab' },
  {
    href: paths.project('acme', 'prj-1'),
    route: '/organizations/:organization/projects/:projectId',
  },
  {
    href: paths.workspace('acme', 'front', 'tags'),
    route: '/organizations/:organization/workspaces/:workspaceName',
  },
  { href: paths.run('acme', 'run-1'), route: '/organizations/:organization/runs/:runId' },
  { href: paths.team('acme', 'team-1'), route: '/organizations/:organization/teams/:teamId' },
  {
    href: paths.policy('acme', 'pol-1', { pane: 'replay', line: 4 }),
    route: '/organizations/:organization/policies/:policyId',
  },
  {
    href: paths.policySet('acme', 'polset-1'),
    route: '/organizations/:organization/policy-sets/:policySetId',
  },
  { href: paths.verdicts(), route: '/verdicts' },
  { href: paths.verdict('default', 'v-1'), route: '/verdicts/:verdictId' },
  { href: paths.allocations(), route: '/allocations' },
  { href: paths.allocation('a-1'), route: '/allocations/:allocId' },
  { href: paths.allocation('a-1', 'logs', 'main'), route: '/allocations/:allocId/:tab' },
  { href: paths.allocationFiles('a-1', '/alloc/logs'), route: '/allocations/:allocId/:tab' },
  { href: paths.nodes(), route: '/nodes' },
  { href: paths.node('n-1'), route: '/nodes/:nodeId' },
  { href: paths.node('n-1', 'attributes'), route: '/nodes/:nodeId/:tab' },
  { href: paths.nodePools(), route: '/node-pools' },
  { href: paths.nodePool('gpu', 'jobs'), route: '/node-pools/:poolName' },
  { href: paths.variables({ namespace: 'prod' }), route: '/variables' },
  { href: paths.variable({ namespace: 'prod', id: 'apps/db' }), route: '/variables/:path' },
  { href: paths.newVariable(), route: '/new-variable' },
  { href: paths.topology('cpu'), route: '/topology' },
  { href: paths.deployments(), route: '/deployments' },
  { href: paths.deployment('d-1'), route: '/deployments/:deploymentId' },
  { href: paths.evaluations(), route: '/evaluations' },
  { href: paths.evaluation('e-1'), route: '/evaluations/:evaluationId' },
  { href: paths.events(), route: '/events' },
  { href: paths.services(), route: '/services' },
  { href: paths.service({ namespace: 'prod', id: 'web' }), route: '/services/:serviceName' },
  { href: paths.namespaces(), route: '/namespaces' },
  { href: paths.tokens(), route: '/access/tokens' },
  { href: paths.token('t-1'), route: '/access/tokens/:accessorId' },
  { href: paths.accessPolicies(), route: '/access/policies' },
  { href: paths.accessPolicy('a/b'), route: '/access/policies/:policyName' },
  { href: paths.newAccessPolicy(), route: '/access/new-policy' },
  { href: paths.roles(), route: '/access/roles' },
]

for (const { href, route } of ADDRESSES)
  test(`the address ${href} is a page`, () => {
    const { pathname } = new URL(href, 'http://localhost')
    const found = routes.find(({ path }) => matchPath(path, pathname.slice(BASE.length)))
    assert.equal(found?.path, route)
  })

test('an id with slashes is one segment and comes back whole', () => {
  assert.equal(paths.job(JOB), '/ui/jobs/web%2Fdispatch-1?namespace=prod')
  assert.deepEqual(matchPath('/jobs/:jobId', '/jobs/web%2Fdispatch-1'), { jobId: JOB.id })
})

test('all namespaces is what an address says that names none', () => {
  assert.equal(paths.jobs({ namespace: '*' }), '/ui/jobs')
  assert.equal(paths.jobs({ namespace: 'prod' }), '/ui/jobs?namespace=prod')
})
