import { Type } from 'typebox'
import { route } from '../route.ts'
import { Timestamp, type Shape } from '../shape.ts'
import { bytes, denied, ok, refused, silent, TEXT_TYPE } from './answer.ts'
import { Base64 } from './identifier.ts'
import { JobPath } from './job-path.ts'
import { common, Flag, Text, Whole } from './query.ts'

/** Reference §8.5. */
export const FileInfo = Type.Object(
  {
    Name: Type.String({
      description:
        'In a name that is not UTF-8, `\\xNN` stands for a backslash or a byte past ASCII; paths may be given so.',
    }),
    IsDir: Type.Boolean(),
    Size: Type.Integer(),
    FileMode: Type.String({ description: 'Such as `drwxr-xr-x`.' }),
    ModTime: Timestamp(),
    ContentType: Type.Optional(Type.String()),
  },
  { $id: 'FileInfo' },
)
export type FileInfo = Shape<typeof FileInfo>

export const FILE_EVENTS = ['file deleted', 'file truncated'] as const
export type FileEvent = (typeof FILE_EVENTS)[number]

/**
 * Frames follow each other without a separator; empty members are left out; `{}` is a heartbeat.
 */
export const StreamFrame = Type.Object(
  {
    Offset: Type.Optional(Type.Integer({ description: 'In the file, after the data.' })),
    Data: Type.Optional(Base64()),
    File: Type.Optional(Type.String()),
    FileEvent: Type.Optional(Type.Enum(FILE_EVENTS)),
  },
  { $id: 'StreamFrame', description: 'A piece of a file or log that is followed.' },
)
export type StreamFrame = Shape<typeof StreamFrame>

export const STREAM_ORIGINS = ['start', 'end'] as const
export type StreamOrigin = (typeof STREAM_ORIGINS)[number]

export const LOG_TYPES = ['stdout', 'stderr'] as const
export type LogType = (typeof LOG_TYPES)[number]

const AllocationPath = Type.Object({ alloc_id: Type.String() })
const path = Type.String({ description: 'Path below the directory of the allocation.' })
const offset = Whole('Bytes from `origin` at which to begin.')
const origin = Type.Optional(
  Type.String({ description: '`start` or `end`: from where `offset` counts.', default: 'start' }),
)
const section = 'Files and logs'
const refusals = {
  400: refused('A parameter is missing or wrong, or the path is a directory.'),
  403: refused('`Permission denied`, or the path lies in a directory of secrets.'),
  404: refused('The allocation or the file is unknown, or the task has not started.'),
  504: silent,
}

export const clientFsRoutes = {
  listFiles: route({
    id: 'listFiles',
    methods: ['GET'],
    path: '/v1/client/fs/ls/:alloc_id',
    answeredBy: 'leader',
    summary: 'List a directory of an allocation.',
    section,
    params: AllocationPath,
    query: Type.Object({
      ...common,
      path: Type.Optional(Type.String({ description: 'The directory.', default: '/' })),
    }),
    answers: {
      200: ok(
        Type.Array(FileInfo),
        'Its files by name, at most 10,000; `X-Service-Truncated: true` when there are more.',
      ),
      ...refusals,
    },
    needs: 'namespace:read-fs',
  }),
  statFile: route({
    id: 'statFile',
    methods: ['GET'],
    path: '/v1/client/fs/stat/:alloc_id',
    answeredBy: 'leader',
    summary: 'Read what is known about a file of an allocation.',
    section,
    params: AllocationPath,
    query: Type.Object({ ...common, path }),
    answers: { 200: ok(FileInfo, 'The file.'), ...refusals },
    needs: 'namespace:read-fs',
  }),
  readFile: route({
    id: 'readFile',
    methods: ['GET'],
    path: '/v1/client/fs/cat/:alloc_id',
    answeredBy: 'leader',
    summary: 'Read a file of an allocation.',
    section,
    params: AllocationPath,
    query: Type.Object({ ...common, path }),
    answers: { 200: bytes('The bytes of the file.'), ...refusals },
    needs: 'namespace:read-fs',
  }),
  readFileAt: route({
    id: 'readFileAt',
    methods: ['GET'],
    path: '/v1/client/fs/readat/:alloc_id',
    answeredBy: 'leader',
    summary: 'Read a part of a file of an allocation.',
    section,
    params: AllocationPath,
    query: Type.Object({
      ...common,
      path,
      offset: Type.Integer({ description: 'The first byte.', minimum: 0 }),
      limit: Type.Optional(Type.Integer({ description: 'At most this many bytes.', minimum: 0 })),
    }),
    answers: { 200: bytes('The bytes.'), ...refusals },
    needs: 'namespace:read-fs',
  }),
  streamFile: route({
    id: 'streamFile',
    methods: ['GET'],
    path: '/v1/client/fs/stream/:alloc_id',
    answeredBy: 'leader',
    summary: 'Follow a file of an allocation.',
    section,
    params: AllocationPath,
    query: Type.Object({
      ...common,
      path,
      offset,
      origin,
      follow: Flag('Stay until the caller leaves.', true),
    }),
    answers: { 200: ok(StreamFrame, 'Frames, one after the other.'), ...refusals },
    streams: true,
    needs: 'namespace:read-fs',
  }),
  streamLogs: route({
    id: 'streamLogs',
    methods: ['GET'],
    path: '/v1/client/fs/logs/:alloc_id',
    answeredBy: 'leader',
    summary: 'Read or follow the output of a task.',
    section,
    params: AllocationPath,
    query: Type.Object({
      ...common,
      task: Type.String({ description: 'The task.' }),
      type: Type.String({ description: '`stdout` or `stderr`.' }),
      offset,
      origin,
      follow: Flag('Stay until the caller leaves.'),
      plain: Flag('Only the bytes, as text, without frames.'),
    }),
    answers: { 200: ok(StreamFrame, 'Frames, or text with `plain=true`.'), ...refusals },
    streams: true,
    needs: 'namespace:read-logs or namespace:read-fs',
  }),
  streamJobLogs: route({
    id: 'streamJobLogs',
    methods: ['GET'],
    path: '/v1/job/:job_id/logs',
    answeredBy: 'leader',
    summary: 'Read or follow the output of all allocations of a job, line by line.',
    section,
    params: JobPath,
    query: Type.Object({
      ...common,
      task: Text('Only this task; all of them when empty.'),
      type: Text('`stdout` or `stderr`; both when empty.'),
      offset,
      origin,
      follow: Flag('Stay until the job has ended, also for allocations that are yet to come.'),
      prefix: Flag('Begin each line with the short id of the allocation and the task.'),
    }),
    answers: {
      200: {
        description: 'Whole lines, those of one allocation in their order.',
        schema: Type.String(),
        contentType: TEXT_TYPE,
      },
      400: refused('A parameter is wrong.'),
      403: denied,
      404: refused('`job not found`'),
      504: silent,
    },
    streams: true,
    needs: 'namespace:read-logs or namespace:read-fs',
  }),
} as const
