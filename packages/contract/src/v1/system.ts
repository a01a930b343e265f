import { route } from '../route.ts'
import { denied, done } from './answer.ts'
import { WriteQuery } from './query.ts'

/** Reference §1.1: the two paths that take PUT only. */
export const systemRoutes = {
  collectGarbage: route({
    id: 'collectGarbage',
    methods: ['PUT'],
    path: '/v1/system/gc',
    growsState: false,
    summary: 'Remove everything that has ended, whatever its age.',
    section: 'Operator',
    query: WriteQuery,
    answers: { 200: done('The collection has been started.'), 403: denied },
    needs: 'management',
  }),
  reconcileSummaries: route({
    id: 'reconcileSummaries',
    methods: ['PUT'],
    path: '/v1/system/reconcile/summaries',
    growsState: false,
    summary: 'Count the allocations of every job again.',
    section: 'Operator',
    query: WriteQuery,
    answers: { 200: done('The summaries are right.'), 403: denied },
    needs: 'management',
  }),
} as const
