import { page, type PageRoute } from '../routing/route.ts'

/** Pages of allocations, nodes, deployments, evaluations, services, variables and namespaces. */
export const clusterRoutes: readonly PageRoute[] = [
  page({
    path: '/allocations',
    title: 'Allocations',
    load: async () => (await import('../pages/allocations/allocation-list.tsx')).AllocationListPage,
  }),
  page({
    path: '/allocations/:allocId',
    title: 'Allocation',
    load: async () => (await import('../pages/allocations/allocation.tsx')).AllocationOverviewPage,
  }),
  page({
    path: '/allocations/:allocId/:tab',
    title: 'Allocation',
    load: async () => (await import('../pages/allocations/allocation.tsx')).AllocationTabPage,
  }),
  page({
    path: '/nodes',
    title: 'Nodes',
    load: async () => (await import('../pages/cluster/node-list.tsx')).NodeListPage,
  }),
  page({
    path: '/nodes/:nodeId',
    title: 'Node',
    load: async () => (await import('../pages/cluster/node.tsx')).NodeOverviewPage,
  }),
  page({
    path: '/nodes/:nodeId/:tab',
    title: 'Node',
    load: async () => (await import('../pages/cluster/node.tsx')).NodeTabPage,
  }),
  page({
    path: '/node-pools',
    title: 'Node pools',
    load: async () => (await import('../pages/cluster/node-pool-list.tsx')).NodePoolListPage,
  }),
  page({
    path: '/node-pools/:poolName',
    title: 'Node pool',
    load: async () => (await import('../pages/cluster/node-pool.tsx')).NodePoolPage,
  }),
  page({
    path: '/topology',
    title: 'Topology',
    load: async () => (await import('../pages/cluster/topology.tsx')).TopologyPage,
  }),
  page({
    path: '/deployments',
    title: 'Deployments',
    load: async () => (await import('../pages/cluster/deployment-list.tsx')).DeploymentListPage,
  }),
  page({
    path: '/deployments/:deploymentId',
    title: 'Deployment',
    load: async () => (await import('../pages/cluster/deployment.tsx')).DeploymentPage,
  }),
  page({
    path: '/evaluations',
    title: 'Evaluations',
    load: async () => (await import('../pages/cluster/evaluation-list.tsx')).EvaluationListPage,
  }),
  page({
    path: '/evaluations/:evaluationId',
    title: 'Evaluation',
    load: async () => (await import('../pages/cluster/evaluation.tsx')).EvaluationPage,
  }),
  page({
    path: '/events',
    title: 'Events',
    load: async () => (await import('../pages/cluster/events.tsx')).EventsPage,
  }),
  page({
    path: '/services',
    title: 'Services',
    load: async () => (await import('../pages/cluster/service-list.tsx')).ServiceListPage,
  }),
  page({
    path: '/services/:serviceName',
    title: 'Service',
    load: async () => (await import('../pages/cluster/service.tsx')).ServicePage,
  }),
  page({
    path: '/variables',
    title: 'Variables',
    load: async () => (await import('../pages/variables/variable-list.tsx')).VariableListPage,
  }),
  page({
    path: '/variables/:path',
    title: 'Variable',
    load: async () => (await import('../pages/variables/variable.tsx')).VariablePage,
  }),
  page({
    path: '/new-variable',
    title: 'New variable',
    load: async () => (await import('../pages/variables/new-variable.tsx')).NewVariablePage,
  }),
  page({
    path: '/namespaces',
    title: 'Namespaces',
    load: async () => (await import('../pages/cluster/namespaces.tsx')).NamespacesPage,
  }),
]
