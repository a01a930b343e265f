import type { PageRoute } from '../routing/route.ts'
import { jobRoutes } from './jobs.ts'
import { sessionRoutes } from './session.ts'

/** The site map. The first pattern that fits wins: literal segments stand before parameters. */
export const routes: readonly PageRoute[] = [...sessionRoutes, ...jobRoutes]
