import { page, type PageRoute } from '../routing/route.ts'

export const jobRoutes: readonly PageRoute[] = [
  page({
    path: '/jobs',
    title: 'Jobs',
    load: async () => (await import('../pages/jobs/job-list.tsx')).JobListPage,
  }),
]
