import * as t from './shared-schemas.ts'
import { remove, blockingRead, routes } from './define.ts'

/** Characters of the output of a failing check that a registration keeps. */
export const SERVICE_OUTPUT_CHARS_MAX = 300

export const ServiceChecks = t.Named(
  'ServiceChecks',
  'How many checks of a service instance pass.',
  {
    Passing: t.Integer(),
    Failing: t.Integer(),
    Pending: t.Integer({ description: 'Checks without a result yet.' }),
    Output: t.String({
      description: `Of the first failing check, at most ${SERVICE_OUTPUT_CHARS_MAX} characters.`,
    }),
  },
)
export type ServiceChecks = t.Infer<typeof ServiceChecks>

export const ServiceRegistration = t.Object(
  {
    ID: t.String(),
    ServiceName: t.String(),
    Namespace: t.String(),
    NodeID: t.String(),
    Datacenter: t.String(),
    JobID: t.String(),
    AllocID: t.String(),
    Tags: t.Nullable(t.Array(t.String())),
    Address: t.String(),
    Port: t.Integer(),
    Checks: t.Optional(ServiceChecks),
    CreateIndex: t.Index(),
    ModifyIndex: t.Index(),
  },
  { $id: 'ServiceRegistration', description: 'Where one instance of a service is reached.' },
)
export type ServiceRegistration = t.Infer<typeof ServiceRegistration>

export const ServiceList = t.Named('ServiceList', 'The services of one namespace.', {
  Namespace: t.String(),
  Services: t.Array(
    t.Object({
      ServiceName: t.String(),
      Tags: t.Array(t.String()),
      Instances: t.Integer(),
      Failing: t.Integer({ description: 'Instances with a failing check.' }),
    }),
  ),
})
export type ServiceList = t.Infer<typeof ServiceList>

export const serviceRoutes = routes('Services', {
  listServices: blockingRead('/services', {
    summary: 'List the names of the registered services.',
    cost: 2,
    returns: t.jsonResponse(t.Array(ServiceList), 'The services by namespace.'),
    needs: 'namespace:read-job',
  }),
  readService: blockingRead('/service/:service_name', {
    summary: 'List the instances of one service.',
    query: {
      filter: t.filterQuery,
      per_page: t.pagingQuery.per_page,
      next_token: t.pagingQuery.next_token,
      choose: t.TextParameter('`<n>|<key>`: only n of them, always the same for one key.'),
    },
    returns: t.jsonResponse(
      t.Array(ServiceRegistration),
      'The instances; none for an unknown service.',
    ),
    errors: { 400: "`Parameter for choose must be in form '<number>|<key>'`" },
    acceptsUnknown: true,
    needs: 'namespace:read-job',
  }),
  deleteServiceRegistration: remove('/service/:service_name/:registration_id', {
    summary: 'Remove one instance of a service.',
    returns: t.emptyResponse('It is removed.'),
    needs: 'namespace:submit-job or namespace:delete-service-registration',
  }),
})
