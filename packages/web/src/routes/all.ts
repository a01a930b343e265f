import type { PageRoute } from '../routing/route.ts'
import { accessRoutes } from './access.ts'
import { clusterRoutes } from './cluster.ts'
import { governanceRoutes } from './governance.ts'
import { jobRoutes } from './jobs.ts'
import { sessionRoutes } from './session.ts'

/** The site map. The first matching pattern wins: literal segments come before parameters. */
export const routes: readonly PageRoute[] = [
  ...sessionRoutes,
  ...jobRoutes,
  ...clusterRoutes,
  ...accessRoutes,
  ...governanceRoutes,
]
