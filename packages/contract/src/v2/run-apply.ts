import { Type } from 'typebox'
import { routes } from '../route.ts'
import { read } from './define.ts'
import { Nullable, type Infer } from '../schema.ts'
import { jsonResponse } from './answers.ts'
import {
  DocumentOf,
  BinaryBody,
  BINARY_TYPE,
  OneOf,
  ResourceOf,
  SelfLink,
  StatusTimestamps,
  ToOne,
} from './json-api.ts'
import { fieldsQuery } from './query.ts'
import { PLAN_STATUSES } from './run-plan.ts'

const count = Type.Integer({ minimum: 0 })

/** How a plan is carried out. It exists from the creation of an executed run on. */
export const RunApply = ResourceOf('RunApply', 'applies', {
  attributes: Type.Object({
    status: OneOf(PLAN_STATUSES, '`unreachable` when the run ended before its apply.'),
    'status-timestamps': StatusTimestamps(),
    'resource-additions': count,
    'resource-changes': count,
    'resource-destructions': count,
    'resource-imports': count,
    'log-read-url': Nullable(Type.String({ description: 'Absolute, valid for a day.' })),
  }),
  relationships: Type.Object({ run: ToOne('runs') }),
  links: SelfLink(),
})
export type RunApply = Infer<typeof RunApply>

export const RunApplyDocument = DocumentOf(RunApply)

const readers = 'Permission to read the runs of the workspace.'

export const runApplyRoutes = routes('Runs', {
  readApply: read('/applies/:apply_id', {
    summary: 'Show the apply of a run.',
    query: fieldsQuery('applies'),
    returns: RunApplyDocument,
    needs: readers,
  }),
  readErroredState: read('/applies/:apply_id/errored-state', {
    summary: 'Download the state that an apply left and that could not be stored.',
    answers: { 200: { ...jsonResponse('The state.', BinaryBody), contentType: BINARY_TYPE } },
    errors: { 404: 'Apply not found, or its state was stored.' },
    needs: 'Permission to read the state versions of the workspace.',
  }),
  readRunLog: read('/run-logs/:upload_key', {
    summary:
      'Read the log of a plan or an apply from a byte on. It begins with the byte 0x02 and ends with 0x03.',
    query: { offset: Type.Optional(count), limit: Type.Optional(Type.Integer({ minimum: 1 })) },
    answers: {
      200: {
        ...jsonResponse('Bytes of the log; none when there are none yet.', BinaryBody),
        contentType: 'text/plain',
      },
    },
    errors: { 404: 'The key is wrong or has expired.' },
    needs: 'Nothing but the address: its key is the permission.',
  }),
})
