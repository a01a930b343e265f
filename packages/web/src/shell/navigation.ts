import { paths } from '../paths.ts'
import { routes } from '../routes/all.ts'

export interface NavigationItem {
  readonly text: string
  readonly href: (namespace: string) => string
  /** After `g`: `g j` goes to the jobs. */
  readonly key?: string
  /** Also the current one on every page below this path. */
  readonly under: string
}

export interface NavigationGroup {
  readonly title: string
  readonly items: readonly NavigationItem[]
}

const GROUPS: readonly NavigationGroup[] = [
  {
    title: 'Workload',
    items: [
      { text: 'Jobs', href: (namespace) => paths.jobs({ namespace }), key: 'j', under: '/jobs' },
      {
        text: 'Run a job',
        href: (namespace) => paths.runJob({ namespace }),
        key: 'r',
        under: '/run',
      },
      {
        text: 'Allocations',
        href: (namespace) => paths.allocations({ namespace }),
        key: 'a',
        under: '/allocations',
      },
      {
        text: 'Deployments',
        href: (namespace) => paths.deployments({ namespace }),
        key: 'd',
        under: '/deployments',
      },
      {
        text: 'Evaluations',
        href: (namespace) => paths.evaluations({ namespace }),
        key: 'e',
        under: '/evaluations',
      },
      {
        text: 'Services',
        href: (namespace) => paths.services({ namespace }),
        key: 's',
        under: '/services',
      },
      {
        text: 'Variables',
        href: (namespace) => paths.variables({ namespace }),
        key: 'b',
        under: '/variables',
      },
    ],
  },
  {
    title: 'Cluster',
    items: [
      { text: 'Nodes', href: () => paths.nodes(), key: 'n', under: '/nodes' },
      { text: 'Node pools', href: () => paths.nodePools(), key: 'p', under: '/node-pools' },
      { text: 'Topology', href: () => paths.topology(), key: 't', under: '/topology' },
      {
        text: 'Events',
        href: (namespace) => paths.events({ namespace }),
        key: 'v',
        under: '/events',
      },
      { text: 'Namespaces', href: () => paths.namespaces(), key: 'm', under: '/namespaces' },
    ],
  },
  {
    title: 'Access',
    items: [
      { text: 'Tokens', href: () => paths.tokens(), key: 'k', under: '/access/tokens' },
      { text: 'Policies', href: () => paths.accessPolicies(), under: '/access/policies' },
      { text: 'Roles', href: () => paths.roles(), under: '/access/roles' },
    ],
  },
  {
    title: 'Governance',
    items: [
      {
        text: 'Organizations',
        href: () => paths.organizations(),
        key: 'o',
        under: '/organizations',
      },
      {
        text: 'Verdicts on jobs',
        href: (namespace) => paths.verdicts({ namespace }),
        key: 'c',
        under: '/verdicts',
      },
    ],
  },
]

/** The side navigation, of pages that exist. The palette and the keyboard map follow it. */
export const NAVIGATION: readonly NavigationGroup[] = GROUPS.map((group) => ({
  ...group,
  items: group.items.filter(({ under }) => routes.some(({ path }) => path === under)),
})).filter(({ items }) => items.length > 0)
