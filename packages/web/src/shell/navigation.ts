import { ALL_NAMESPACES, paths } from '../paths.ts'
import { useLocation } from '../routing/location.ts'
import { routes } from '../site-map.ts'

interface NavigationItem {
  readonly text: string
  readonly href: (namespace: string) => string
  /** After `g`: `g j` goes to the jobs. */
  readonly key?: string
  /** The item is current on all pages below this path. */
  readonly pathPrefix: string
}

interface NavigationGroup {
  readonly title: string
  readonly items: readonly NavigationItem[]
}

const GROUPS: readonly NavigationGroup[] = [
  {
    title: 'Workload',
    items: [
      {
        text: 'Jobs',
        href: (namespace) => paths.jobs({ namespace }),
        key: 'j',
        pathPrefix: '/jobs',
      },
      {
        text: 'Submit job',
        href: (namespace) => paths.runJob({ namespace }),
        key: 'r',
        pathPrefix: '/run',
      },
      {
        text: 'Allocations',
        href: (namespace) => paths.allocations({ namespace }),
        key: 'a',
        pathPrefix: '/allocations',
      },
      {
        text: 'Deployments',
        href: (namespace) => paths.deployments({ namespace }),
        key: 'd',
        pathPrefix: '/deployments',
      },
      {
        text: 'Evaluations',
        href: (namespace) => paths.evaluations({ namespace }),
        key: 'e',
        pathPrefix: '/evaluations',
      },
      {
        text: 'Services',
        href: (namespace) => paths.services({ namespace }),
        key: 's',
        pathPrefix: '/services',
      },
      {
        text: 'Variables',
        href: (namespace) => paths.variables({ namespace }),
        key: 'b',
        pathPrefix: '/variables',
      },
    ],
  },
  {
    title: 'Cluster',
    items: [
      { text: 'Nodes', href: () => paths.nodes(), key: 'n', pathPrefix: '/nodes' },
      { text: 'Node pools', href: () => paths.nodePools(), key: 'p', pathPrefix: '/node-pools' },
      { text: 'Topology', href: () => paths.topology(), key: 't', pathPrefix: '/topology' },
      {
        text: 'Events',
        href: (namespace) => paths.events({ namespace }),
        key: 'v',
        pathPrefix: '/events',
      },
      { text: 'Namespaces', href: () => paths.namespaces(), key: 'm', pathPrefix: '/namespaces' },
    ],
  },
  {
    title: 'Access control',
    items: [
      { text: 'Tokens', href: () => paths.tokens(), key: 'k', pathPrefix: '/access/tokens' },
      { text: 'ACL policies', href: () => paths.accessPolicies(), pathPrefix: '/access/policies' },
      { text: 'Roles', href: () => paths.roles(), pathPrefix: '/access/roles' },
    ],
  },
  {
    title: 'Governance',
    items: [
      {
        text: 'Organizations',
        href: () => paths.organizations(),
        key: 'o',
        pathPrefix: '/organizations',
      },
      {
        text: 'Policy decisions',
        href: (namespace) => paths.verdicts({ namespace }),
        key: 'c',
        pathPrefix: '/verdicts',
      },
    ],
  },
]

/** The side navigation. Search and keyboard shortcuts use it too. */
export const NAVIGATION: readonly NavigationGroup[] = GROUPS.map((group) => ({
  ...group,
  items: group.items.filter(({ pathPrefix }) => routes.some(({ path }) => path === pathPrefix)),
})).filter(({ items }) => items.length > 0)

/** Returns the namespace of the URL; all namespaces by default. */
export function useNamespace(): string {
  return useLocation().searchParams.get('namespace') ?? ALL_NAMESPACES
}
