import { page, type PageRoute } from '../routing/route.ts'

export const jobRoutes: readonly PageRoute[] = [
  page({
    path: '/jobs',
    title: 'Jobs',
    load: async () => (await import('../pages/jobs/job-list.tsx')).JobListPage,
  }),
  page({
    path: '/jobs/:jobId',
    title: 'Job',
    load: async () => (await import('../pages/jobs/job.tsx')).JobOverviewPage,
  }),
  page({
    path: '/jobs/:jobId/:tab',
    title: 'Job',
    load: async () => (await import('../pages/jobs/job.tsx')).JobTabPage,
  }),
  page({
    path: '/run',
    title: 'Run a job',
    load: async () => (await import('../pages/jobs/run-job.tsx')).RunJobPage,
  }),
]
