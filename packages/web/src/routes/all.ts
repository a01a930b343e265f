import type { PageRoute } from '../routing/route.ts'
import { accessRoutes } from './access.ts'
import { clusterRoutes } from './cluster.ts'
import { governanceRoutes } from './governance.ts'
import { jobRoutes } from './jobs.ts'
import { sessionRoutes } from './session.ts'

/** The site map. The first pattern that fits wins: literal segments stand before parameters. */
export const routes: readonly PageRoute[] = [
  ...sessionRoutes,
  ...jobRoutes,
  ...clusterRoutes,
  ...accessRoutes,
  ...governanceRoutes,
]
