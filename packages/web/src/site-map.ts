import { page, type PageRoute } from './routing/route.ts'

const sessionRoutes: readonly PageRoute[] = [
  page({
    path: '/',
    title: 'Reeve',
    load: async () => (await import('./pages/session/home.tsx')).HomePage,
  }),
  page({
    path: '/sign-in',
    title: 'Sign in',
    load: async () => (await import('./pages/session/sign-in.tsx')).SignInPage,
  }),
  page({
    path: '/session',
    title: 'Session',
    load: async () => (await import('./pages/session/session.tsx')).SessionPage,
  }),
]

const jobRoutes: readonly PageRoute[] = [
  page({
    path: '/jobs',
    title: 'Jobs',
    load: async () => (await import('./pages/jobs/job-list.tsx')).JobListPage,
  }),
  page({
    path: '/jobs/:jobId',
    title: 'Job',
    load: async () => (await import('./pages/jobs/job.tsx')).JobOverviewPage,
  }),
  page({
    path: '/jobs/:jobId/:tab',
    title: 'Job',
    load: async () => (await import('./pages/jobs/job.tsx')).JobTabPage,
  }),
  page({
    path: '/run',
    title: 'Submit job',
    load: async () => (await import('./pages/jobs/run-job.tsx')).RunJobPage,
  }),
]

/** Pages of allocations, nodes, deployments, evaluations, services, variables and namespaces. */
const clusterRoutes: readonly PageRoute[] = [
  page({
    path: '/allocations',
    title: 'Allocations',
    load: async () => (await import('./pages/allocations/allocation-list.tsx')).AllocationListPage,
  }),
  page({
    path: '/allocations/:allocId',
    title: 'Allocation',
    load: async () => (await import('./pages/allocations/allocation.tsx')).AllocationOverviewPage,
  }),
  page({
    path: '/allocations/:allocId/:tab',
    title: 'Allocation',
    load: async () => (await import('./pages/allocations/allocation.tsx')).AllocationTabPage,
  }),
  page({
    path: '/nodes',
    title: 'Nodes',
    load: async () => (await import('./pages/cluster/node-list.tsx')).NodeListPage,
  }),
  page({
    path: '/nodes/:nodeId',
    title: 'Node',
    load: async () => (await import('./pages/cluster/node.tsx')).NodeOverviewPage,
  }),
  page({
    path: '/nodes/:nodeId/:tab',
    title: 'Node',
    load: async () => (await import('./pages/cluster/node.tsx')).NodeTabPage,
  }),
  page({
    path: '/node-pools',
    title: 'Node pools',
    load: async () => (await import('./pages/cluster/node-pool-list.tsx')).NodePoolListPage,
  }),
  page({
    path: '/node-pools/:poolName',
    title: 'Node pool',
    load: async () => (await import('./pages/cluster/node-pool.tsx')).NodePoolPage,
  }),
  page({
    path: '/topology',
    title: 'Topology',
    load: async () => (await import('./pages/cluster/topology.tsx')).TopologyPage,
  }),
  page({
    path: '/deployments',
    title: 'Deployments',
    load: async () => (await import('./pages/cluster/deployment-list.tsx')).DeploymentListPage,
  }),
  page({
    path: '/deployments/:deploymentId',
    title: 'Deployment',
    load: async () => (await import('./pages/cluster/deployment.tsx')).DeploymentPage,
  }),
  page({
    path: '/evaluations',
    title: 'Evaluations',
    load: async () => (await import('./pages/cluster/evaluation-list.tsx')).EvaluationListPage,
  }),
  page({
    path: '/evaluations/:evaluationId',
    title: 'Evaluation',
    load: async () => (await import('./pages/cluster/evaluation.tsx')).EvaluationPage,
  }),
  page({
    path: '/events',
    title: 'Events',
    load: async () => (await import('./pages/cluster/events.tsx')).EventsPage,
  }),
  page({
    path: '/services',
    title: 'Services',
    load: async () => (await import('./pages/cluster/service-list.tsx')).ServiceListPage,
  }),
  page({
    path: '/services/:serviceName',
    title: 'Service',
    load: async () => (await import('./pages/cluster/service.tsx')).ServicePage,
  }),
  page({
    path: '/variables',
    title: 'Variables',
    load: async () => (await import('./pages/variables/variable-list.tsx')).VariableListPage,
  }),
  page({
    path: '/variables/:path',
    title: 'Variable',
    load: async () => (await import('./pages/variables/variable.tsx')).VariablePage,
  }),
  page({
    path: '/new-variable',
    title: 'New variable',
    load: async () => (await import('./pages/variables/new-variable.tsx')).NewVariablePage,
  }),
  page({
    path: '/namespaces',
    title: 'Namespaces',
    load: async () => (await import('./pages/cluster/namespaces.tsx')).NamespacesPage,
  }),
]

/** Pages of ACL tokens, policies and roles. */
const accessRoutes: readonly PageRoute[] = [
  page({
    path: '/access/tokens',
    title: 'Tokens',
    load: async () => (await import('./pages/access/token-list.tsx')).TokenListPage,
  }),
  page({
    path: '/access/tokens/:accessorId',
    title: 'Token',
    load: async () => (await import('./pages/access/token.tsx')).TokenPage,
  }),
  page({
    path: '/access/policies',
    title: 'ACL policies',
    load: async () => (await import('./pages/access/policy-list.tsx')).AccessPolicyListPage,
  }),
  page({
    path: '/access/policies/:policyName',
    title: 'ACL policy',
    load: async () => (await import('./pages/access/policy.tsx')).AccessPolicyPage,
  }),
  page({
    path: '/access/new-policy',
    title: 'New ACL policy',
    load: async () => (await import('./pages/access/policy.tsx')).NewAccessPolicyPage,
  }),
  page({
    path: '/access/roles',
    title: 'Roles',
    load: async () => (await import('./pages/access/role-list.tsx')).RoleListPage,
  }),
]

/** Pages of organizations, policies and policy decisions. */
const governanceRoutes: readonly PageRoute[] = [
  page({
    path: '/organizations',
    title: 'Organizations',
    load: async () =>
      (await import('./pages/governance/organization-list.tsx')).OrganizationListPage,
  }),
  page({
    path: '/organizations/:organization',
    title: 'Organization',
    load: async () => (await import('./pages/governance/organization.tsx')).OrganizationPage,
  }),
  page({
    path: '/organizations/:organization/projects/:projectId',
    title: 'Project',
    load: async () => (await import('./pages/governance/project.tsx')).ProjectPage,
  }),
  page({
    path: '/organizations/:organization/workspaces/:workspaceName',
    title: 'Workspace',
    load: async () => (await import('./pages/governance/workspace.tsx')).WorkspacePage,
  }),
  page({
    path: '/organizations/:organization/runs/:runId',
    title: 'Run',
    load: async () => (await import('./pages/governance/run.tsx')).RunPage,
  }),
  page({
    path: '/organizations/:organization/teams/:teamId',
    title: 'Team',
    load: async () => (await import('./pages/governance/team.tsx')).TeamPage,
  }),
  page({
    path: '/organizations/:organization/policies/:policyId',
    title: 'Policy',
    load: async () => (await import('./pages/policies/policy.tsx')).PolicyPage,
  }),
  page({
    path: '/organizations/:organization/policy-sets/:policySetId',
    title: 'Policy set',
    load: async () => (await import('./pages/policies/policy-set.tsx')).PolicySetPage,
  }),
  page({
    path: '/organizations/:organization/:tab',
    title: 'Organization',
    load: async () => (await import('./pages/governance/organization.tsx')).OrganizationTabPage,
  }),
  page({
    path: '/verdicts',
    title: 'Policy decisions',
    load: async () => (await import('./pages/policies/verdict-list.tsx')).PolicyDecisionListPage,
  }),
  page({
    path: '/verdicts/:verdictId',
    title: 'Policy decision',
    load: async () => (await import('./pages/policies/verdict.tsx')).PolicyDecisionPage,
  }),
]

/** The site map. The first matching pattern wins: literal segments come before parameters. */
export const routes: readonly PageRoute[] = [
  ...sessionRoutes,
  ...jobRoutes,
  ...clusterRoutes,
  ...accessRoutes,
  ...governanceRoutes,
]
