import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, Nullable, type Shape } from '../shape.ts'
import { denied, done, ok, refused } from './answer.ts'
import { blocking, BlockingQuery, common, filter, paging, Text, WriteQuery } from './query.ts'

/** Reference §4.17. */
export const ServiceRegistration = Type.Object(
  {
    ID: Type.String(),
    ServiceName: Type.String(),
    Namespace: Type.String(),
    NodeID: Type.String(),
    Datacenter: Type.String(),
    JobID: Type.String(),
    AllocID: Type.String(),
    Tags: Nullable(Type.Array(Type.String())),
    Address: Type.String(),
    Port: Type.Integer(),
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  { $id: 'ServiceRegistration', description: 'Where one instance of a service is reached.' },
)
export type ServiceRegistration = Shape<typeof ServiceRegistration>

/** Reference §3.6. */
export const ServiceList = Type.Object(
  {
    Namespace: Type.String(),
    Services: Type.Array(
      Type.Object({ ServiceName: Type.String(), Tags: Type.Array(Type.String()) }),
    ),
  },
  { $id: 'ServiceList', description: 'The services of one namespace.' },
)
export type ServiceList = Shape<typeof ServiceList>

const section = 'Services'

export const serviceRoutes = {
  listServices: route({
    id: 'listServices',
    methods: ['GET'],
    path: '/v1/services',
    cost: 2,
    summary: 'List the names of the registered services.',
    section,
    query: BlockingQuery,
    answers: { 200: ok(Type.Array(ServiceList), 'The services by namespace.'), 403: denied },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  readService: route({
    id: 'readService',
    methods: ['GET'],
    path: '/v1/service/:service_name',
    summary: 'List the instances of one service.',
    section,
    params: Type.Object({ service_name: Type.String() }),
    query: Type.Object({
      ...common,
      ...blocking,
      filter,
      per_page: paging.per_page,
      next_token: paging.next_token,
      choose: Text('`<n>|<key>`: only n of them, always the same for one key.'),
    }),
    answers: {
      200: ok(Type.Array(ServiceRegistration), 'The instances; none for an unknown service.'),
      400: refused("`Parameter for choose must be in form '<number>|<key>'`"),
      403: denied,
    },
    blocking: true,
    needs: 'namespace:read-job',
  }),
  deleteServiceRegistration: route({
    id: 'deleteServiceRegistration',
    methods: ['DELETE'],
    path: '/v1/service/:service_name/:registration_id',
    summary: 'Remove one instance of a service.',
    section,
    params: Type.Object({ service_name: Type.String(), registration_id: Type.String() }),
    query: WriteQuery,
    answers: {
      200: done('It is removed.'),
      403: denied,
      404: refused('The registration is unknown.'),
    },
    needs: 'namespace:submit-job or namespace:delete-service-registration',
  }),
} as const
