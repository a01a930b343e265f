/** The methods that routes are mounted for; Fastify answers HEAD through GET. */
export const EVERY_METHOD = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
