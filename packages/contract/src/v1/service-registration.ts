import { Type } from 'typebox'
import { routes } from '../route.ts'
import { remove, blockingRead } from './define.ts'
import { Named, Index, Nullable, type Infer } from '../schema.ts'
import { emptyResponse, jsonResponse } from './shared-schemas.ts'
import { filterQuery, pagingQuery, TextParameter } from './query.ts'

/** Characters of the output of a failing check that a registration keeps. */
export const SERVICE_OUTPUT_CHARS_MAX = 300

export const ServiceChecks = Named('ServiceChecks', 'How many checks of a service instance pass.', {
  Passing: Type.Integer(),
  Failing: Type.Integer(),
  Pending: Type.Integer({ description: 'Checks without a result yet.' }),
  Output: Type.String({
    description: `Of the first failing check, at most ${SERVICE_OUTPUT_CHARS_MAX} characters.`,
  }),
})
export type ServiceChecks = Infer<typeof ServiceChecks>

/** The checks of an instance in words, as `1 of 2 passing`; empty without checks. */
export function checksText(checks: ServiceChecks | undefined): string {
  if (checks === undefined) return ''
  const { Passing, Failing, Pending } = checks
  return `${Passing} of ${Passing + Failing + Pending} passing`
}

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
    Checks: Type.Optional(ServiceChecks),
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  { $id: 'ServiceRegistration', description: 'Where one instance of a service is reached.' },
)
export type ServiceRegistration = Infer<typeof ServiceRegistration>

export const ServiceList = Named('ServiceList', 'The services of one namespace.', {
  Namespace: Type.String(),
  Services: Type.Array(
    Type.Object({
      ServiceName: Type.String(),
      Tags: Type.Array(Type.String()),
      Instances: Type.Integer(),
      Failing: Type.Integer({ description: 'Instances with a failing check.' }),
    }),
  ),
})
export type ServiceList = Infer<typeof ServiceList>

export const serviceRoutes = routes('Services', {
  listServices: blockingRead('/services', {
    summary: 'List the names of the registered services.',
    cost: 2,
    returns: jsonResponse(Type.Array(ServiceList), 'The services by namespace.'),
    needs: 'namespace:read-job',
  }),
  readService: blockingRead('/service/:service_name', {
    summary: 'List the instances of one service.',
    query: {
      filter: filterQuery,
      per_page: pagingQuery.per_page,
      next_token: pagingQuery.next_token,
      choose: TextParameter('`<n>|<key>`: only n of them, always the same for one key.'),
    },
    returns: jsonResponse(
      Type.Array(ServiceRegistration),
      'The instances; none for an unknown service.',
    ),
    errors: { 400: "`Parameter for choose must be in form '<number>|<key>'`" },
    needs: 'namespace:read-job',
  }),
  deleteServiceRegistration: remove('/service/:service_name/:registration_id', {
    summary: 'Remove one instance of a service.',
    returns: emptyResponse('It is removed.'),
    errors: { 404: 'The registration is unknown.' },
    needs: 'namespace:submit-job or namespace:delete-service-registration',
  }),
})
