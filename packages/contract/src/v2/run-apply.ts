import * as t from './json-api.ts'
import { read, routes } from './define.ts'
import { PLAN_STATUSES } from './run-plan.ts'

const count = t.Integer({ minimum: 0 })

/** How a plan is carried out. It exists from the creation of an executed run on. */
export const RunApply = t.ResourceOf('RunApply', 'applies', {
  attributes: t.Object({
    status: t.OneOf(PLAN_STATUSES, '`unreachable` when the run ended before its apply.'),
    'status-timestamps': t.StatusTimestamps(),
    'resource-additions': count,
    'resource-changes': count,
    'resource-destructions': count,
    'resource-imports': count,
    'log-read-url': t.Nullable(t.String({ description: 'Absolute, valid for a day.' })),
  }),
  relationships: t.Object({ run: t.ToOne('runs') }),
  links: t.SelfLink(),
})
export type RunApply = t.Infer<typeof RunApply>

const readers = 'Permission to read the runs of the workspace.'

export const runApplyRoutes = routes('Runs', {
  readApply: read('/applies/:apply_id', {
    summary: 'Show the apply of a run.',
    returns: RunApply,
    needs: readers,
  }),
  readErroredState: read('/applies/:apply_id/errored-state', {
    summary: 'Download the state that an apply left and that could not be stored.',
    answers: { 200: { ...t.jsonResponse('The state.', t.BinaryBody), contentType: t.BINARY_TYPE } },
    errors: { 404: 'Apply not found, or its state was stored.' },
    needs: 'Permission to read the state versions of the workspace.',
  }),
  readRunLog: read('/run-logs/:upload_key', {
    summary:
      'Read the log of a plan or an apply from a byte on. It begins with the byte 0x02 and ends with 0x03.',
    query: { offset: t.Optional(count), limit: t.Optional(t.Integer({ minimum: 1 })) },
    answers: {
      200: {
        ...t.jsonResponse('Bytes of the log; none when there are none yet.', t.BinaryBody),
        contentType: 'text/plain',
      },
    },
    errors: { 404: 'The key is wrong or has expired.' },
    needs: 'Nothing but the address: its key is the permission.',
  }),
})
