import { page, type PageRoute } from '../routing/route.ts'

/** Pages of ACL tokens, policies and roles. */
export const accessRoutes: readonly PageRoute[] = [
  page({
    path: '/access/tokens',
    title: 'Tokens',
    load: async () => (await import('../pages/access/token-list.tsx')).TokenListPage,
  }),
  page({
    path: '/access/tokens/:accessorId',
    title: 'Token',
    load: async () => (await import('../pages/access/token.tsx')).TokenPage,
  }),
  page({
    path: '/access/policies',
    title: 'Access policies',
    load: async () => (await import('../pages/access/policy-list.tsx')).AccessPolicyListPage,
  }),
  page({
    path: '/access/policies/:policyName',
    title: 'ACL policy',
    load: async () => (await import('../pages/access/policy.tsx')).AccessPolicyPage,
  }),
  page({
    path: '/access/new-policy',
    title: 'New access policy',
    load: async () => (await import('../pages/access/policy.tsx')).NewAccessPolicyPage,
  }),
  page({
    path: '/access/roles',
    title: 'Roles',
    load: async () => (await import('../pages/access/role-list.tsx')).RoleListPage,
  }),
]
