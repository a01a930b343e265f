import { routes } from '../route.ts'
import { putOnly } from './define.ts'
import { emptyResponse } from './answer.ts'

/** The two paths that take PUT only. */
export const systemRoutes = routes('Operator', {
  collectGarbage: putOnly('/system/gc', {
    summary: 'Remove everything that has ended, whatever its age.',
    growsState: false,
    returns: emptyResponse('The collection has been started.'),
    needs: 'management',
  }),
  reconcileSummaries: putOnly('/system/reconcile/summaries', {
    summary: 'Count the allocations of every job again.',
    growsState: false,
    returns: emptyResponse('The summaries are recomputed.'),
    needs: 'management',
  }),
})
