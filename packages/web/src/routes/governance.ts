import { page, type PageRoute } from '../routing/route.ts'

/** Pages of organizations, policies and policy decisions. */
export const governanceRoutes: readonly PageRoute[] = [
  page({
    path: '/organizations',
    title: 'Organizations',
    load: async () =>
      (await import('../pages/governance/organization-list.tsx')).OrganizationListPage,
  }),
  page({
    path: '/organizations/:organization',
    title: 'Organization',
    load: async () => (await import('../pages/governance/organization.tsx')).OrganizationPage,
  }),
  page({
    path: '/organizations/:organization/projects/:projectId',
    title: 'Project',
    load: async () => (await import('../pages/governance/project.tsx')).ProjectPage,
  }),
  page({
    path: '/organizations/:organization/workspaces/:workspaceName',
    title: 'Workspace',
    load: async () => (await import('../pages/governance/workspace.tsx')).WorkspacePage,
  }),
  page({
    path: '/organizations/:organization/runs/:runId',
    title: 'Run',
    load: async () => (await import('../pages/governance/run.tsx')).RunPage,
  }),
  page({
    path: '/organizations/:organization/teams/:teamId',
    title: 'Team',
    load: async () => (await import('../pages/governance/team.tsx')).TeamPage,
  }),
  page({
    path: '/organizations/:organization/policies/:policyId',
    title: 'Policy',
    load: async () => (await import('../pages/policies/policy.tsx')).PolicyPage,
  }),
  page({
    path: '/organizations/:organization/policy-sets/:policySetId',
    title: 'Policy set',
    load: async () => (await import('../pages/policies/policy-set.tsx')).PolicySetPage,
  }),
  page({
    path: '/organizations/:organization/:tab',
    title: 'Organization',
    load: async () => (await import('../pages/governance/organization.tsx')).OrganizationTabPage,
  }),
  page({
    path: '/verdicts',
    title: 'Verdicts on jobs',
    load: async () => (await import('../pages/policies/verdict-list.tsx')).PolicyDecisionListPage,
  }),
  page({
    path: '/verdicts/:verdictId',
    title: 'Policy decision',
    load: async () => (await import('../pages/policies/verdict.tsx')).PolicyDecisionPage,
  }),
]
